-- A worker's sign of life, and what the database has to tell it.
--
-- in_flight  runs whose tasks it works on     held  pairs it cannot run just now
-- is_deprecated  finish and end; also when the row is missing
-- must_stop      its function is disabled for it (see _must_stop), or the applied manifests
--                keep it away (_pin_fence; worker_fence says which and why)
-- ended_runs     those of in_flight that are no longer started, or gone
-- Locks: the worker's row; the pairs whose held changes.
create function pgflow.heartbeat(
  worker_id uuid, in_flight uuid[] default '{}', held pgflow.task_pair[] default '{}',
  out is_deprecated boolean, out must_stop boolean, out ended_runs uuid[])
language plpgsql
security definer
set search_path = ''
-- planner: keys
as $$
declare
  own pgflow.workers;
begin
  update pgflow.workers w
  set last_heartbeat_at = greatest(clock_timestamp(), w.last_heartbeat_at)
  where w.worker_id = $1
  returning w.* into own;
  is_deprecated := own.worker_id is null or own.deprecated_at is not null;
  must_stop := pgflow._must_stop(worker_id, own.function_name);
  if not must_stop and not is_deprecated and not own.standby then
    must_stop := not pgflow._admit(own);
  end if;

  update pgflow.worker_task_pairs p
  set held = not p.held
  where p.worker_id = $1
    and p.held <> exists (
      select from unnest($3) h where h.flow_slug = p.flow_slug and h.step_slug = p.step_slug);

  ended_runs := array(
    select distinct f.run_id
    from unnest(in_flight) f(run_id)
    where not exists (
      select from pgflow.runs r where r.run_id = f.run_id and r.status || '' = 'started' offset 0));
end
$$;
