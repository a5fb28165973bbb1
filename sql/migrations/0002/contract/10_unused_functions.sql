-- Functions of version 1 that nothing of version 2 calls. They stayed for calls that had begun with a body of version 1.
drop function if exists pgflow._read_messages(text, int);
drop function if exists pgflow._create_flow_from_shape(text, jsonb);
