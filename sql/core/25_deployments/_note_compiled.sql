-- Notes that a flow's shape was given as a whole, once: from then on no step is added to it (_check_may_grow).
-- Locks: the flow row for key share, the first time.
create function pgflow._note_compiled(flow_slug text)
returns void
language sql
set search_path = ''
as $$
  insert into pgflow.compiled_flows (flow_slug) values ($1) on conflict on constraint compiled_flows_pkey do nothing
$$;
