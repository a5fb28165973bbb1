-- Three functions of existing clients take other arguments; no host calls them. A function with defaults beside another
-- would make calls ambiguous, so the old forms go in the transaction that brings the new ones.
drop function if exists pgflow.ensure_flow_compiled(text, jsonb, boolean);
drop function if exists pgflow.start_tasks(text, bigint[], uuid, text);
drop function if exists pgflow.delete_flow_and_data(text);
