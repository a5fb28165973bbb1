-- Step 9 of a rollout: raises while a version has runs or tasks left, or an alias of others
-- points at it; then its drain_status.
-- Locks: none. Errors: 42704 unknown flow; 55000 with the blockers.
create function pgflow.rollout_drained(flow_slug text)
returns table (alias text, is_active boolean, started_runs bigint, safe_to_retire boolean)
language plpgsql
set search_path = ''
as $$
#variable_conflict use_column
declare
  drain record;
begin
  select d.* into drain from pgflow.drain_status(flow_slug) as d;
  perform pgflow._raise_problems(
    format('flow "%s" is not drained', flow_slug), drain.blockers, 'object_not_in_prerequisite_state',
    'Keep its workers; when that is gone, run this again.');
  return query select drain.alias, drain.is_active, drain.started_runs, drain.safe_to_retire;
end
$$;
