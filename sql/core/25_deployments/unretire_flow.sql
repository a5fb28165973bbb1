-- Undoes retire_flow; a flow that is not retired is returned as it is. It takes
-- runs again where it is named or still is its own alias; nothing is switched.
-- Locks: alias, slug, the flow row. Errors: 42704 unknown flow.
create function pgflow.unretire_flow(flow_slug text)
returns pgflow.flows
language plpgsql
set search_path = ''
as $$
declare
  flow pgflow.flows := pgflow._require_flow(flow_slug);
begin
  update pgflow.flows f set retired_at = null
  where f.flow_slug = unretire_flow.flow_slug
  returning f.* into flow;
  return flow;
end
$$;
