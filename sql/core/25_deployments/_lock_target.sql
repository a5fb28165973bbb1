-- Locks the target of a switch: alias, slug, then the row for share, so that a
-- retirement waits; the tests come after that.
-- Errors: 42704 unknown flow.
create function pgflow._lock_target(flow_slug text)
returns pgflow.flows
language plpgsql
set search_path = ''
as $$
declare
  flow pgflow.flows := pgflow._require_flow(flow_slug);
begin
  select f.* into flow from pgflow.flows f where f.flow_slug = _lock_target.flow_slug for share;
  return flow;
end
$$;
