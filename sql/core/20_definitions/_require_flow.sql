-- Locks a flow like _lock_flow and returns its row; raises when there is none.
-- Errors: 42704 names the slug; says so when it is an alias.
create function pgflow._require_flow(flow_slug text)
returns pgflow.flows
language plpgsql
set search_path = ''
as $$
declare
  flow pgflow.flows := pgflow._lock_flow(flow_slug);
begin
  if flow.flow_slug is null then
    perform pgflow._raise_unknown_flow(flow_slug);
  end if;
  return flow;
end
$$;
