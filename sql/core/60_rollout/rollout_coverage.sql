-- Step 7 of a rollout: raises until every queue of it is served by live workers with the
-- modules of the manifest; then manifest_coverage.
-- Locks: none. Errors: 42704 unknown deployment; 55000 with the gaps.
create function pgflow.rollout_coverage(deployment text)
returns table (queue_name text, live_workers bigint, oldest_heartbeat interval, covered boolean, gaps text[])
language plpgsql
set search_path = ''
as $$
begin
  perform pgflow._require_step(deployment, 'confirm');
  return query select * from pgflow.manifest_coverage(deployment);
end
$$;
