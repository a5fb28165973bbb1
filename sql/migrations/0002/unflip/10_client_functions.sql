-- The forms of version 1 come back behind this.
drop function if exists pgflow.ensure_flow_compiled(text, jsonb, text, jsonb);
drop function if exists pgflow.ensure_flow_compiled(text, jsonb, boolean);
drop function if exists pgflow.start_tasks(text, bigint[], uuid, text, text);
drop function if exists pgflow.delete_flow_and_data(text, text);
-- Starts with options, which version 1 has not.
drop function if exists pgflow.start_flow(text, jsonb, uuid, jsonb);
drop function if exists pgflow.start_flows(text, jsonb[], jsonb);
