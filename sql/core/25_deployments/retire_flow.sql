-- Takes a drained version out of service: it keeps its history and takes no new
-- runs. Recomputes the drain verdict under the lock of the flow row, so a start
-- and a retirement never cross. A retired flow is returned as it is.
-- Locks: alias, slug, the flow row for update.
-- Errors: 42704 unknown flow; 55000 with the blockers.
create function pgflow.retire_flow(flow_slug text)
returns pgflow.flows
language plpgsql
set search_path = ''
-- planner: keys
as $$
declare
  flow pgflow.flows := pgflow._require_flow(flow_slug);
  blockers text[];
begin
  select f.* into flow from pgflow.flows f where f.flow_slug = retire_flow.flow_slug for update;
  if flow.retired_at is not null then
    return flow;
  end if;

  blockers := pgflow._drain_blockers(flow_slug);
  perform pgflow._raise_problems(
    format('flow "%s" is not drained', flow_slug), blockers, 'object_not_in_prerequisite_state',
    format('Keep its workers until pgflow.drain_status(%L) says safe_to_retire.', flow_slug));

  update pgflow.flows f set retired_at = greatest(clock_timestamp(), f.created_at)
  where f.flow_slug = retire_flow.flow_slug
  returning f.* into flow;
  return flow;
end
$$;
