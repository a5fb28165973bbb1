-- Notes that a flow's shape was given as a whole, once: from then on no step is added to it (_check_may_grow).
-- Locks: the flow row for no key update, the first time. Callers: _insert_deployment, _compile.
create function pgflow._note_compiled(flow_slug text)
returns void
language sql
set search_path = ''
as $$
  update pgflow.flows f set compiled_at = clock_timestamp() where f.flow_slug = $1 and f.compiled_at is null
$$;
