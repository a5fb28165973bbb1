-- Every worker row of a manifest's functions that matters to its rollout: those that
-- are not stopped, and stopped ones that still hold a started task.
--
-- state            working: takes tasks unless it is fenced; standby; stopped
-- deprecated       it claims nothing any more
-- live             not stopped, not deprecated, heartbeat younger than 15 s
-- gone             stopped, or silent for 30 s
-- started_tasks    tasks in its hands: a handler of it may still be running
-- right_modules    it carries exactly one of the module sets of its entry; null: the entry names none
-- host, pid, modules [{flow, file, buildId, sha256}]: where to find that process
-- Locks: none. Errors: 42704 unknown deployment.
create function pgflow.manifest_workers(deployment text)
returns table (
  function_name text,
  action text,
  worker_id uuid,
  queue_name text,
  started_at timestamptz,
  state text,
  deprecated boolean,
  live boolean,
  gone boolean,
  silent_for interval,
  started_tasks bigint,
  right_modules boolean,
  host text,
  pid text,
  modules jsonb
)
language plpgsql
stable
set search_path = ''
-- planner: keys
as $$
#variable_conflict use_column
declare
  loaded pgflow.deployment_manifest := pgflow._find_manifest(deployment);
begin
  return query
  with entries as (
    select e.function_name, e.action, e.modules <> '{}' as names_modules,
           coalesce(p.module_sets, jsonb_build_array(to_jsonb(e.modules))) as module_sets
    from pgflow._manifest_entries(loaded.manifest) as e
    join pgflow._manifest_pins(loaded.manifest) as p on p.function_name = e.function_name
  ),
  held as (
    select t.last_worker_id, count(*) as tasks
    from pgflow.step_tasks t
    where t.status = 'started'
    group by t.last_worker_id
  )
  select e.function_name, e.action, w.worker_id, w.queue_name, w.started_at,
         case when w.stopped_at is not null then 'stopped' when w.standby then 'standby' else 'working' end,
         w.deprecated_at is not null, pgflow._is_live(w), pgflow._is_gone(w),
         greatest(clock_timestamp() - w.last_heartbeat_at, interval '0'), coalesce(h.tasks, 0),
         case when e.names_modules then pgflow._carries_one_of(w.info -> 'modules', e.module_sets) end,
         w.info ->> 'host', w.info ->> 'pid', coalesce(w.info -> 'modules', '[]')
  from entries e
  join pgflow.workers w on w.function_name = e.function_name
  left join held h on h.last_worker_id = w.worker_id
  where w.stopped_at is null or h.tasks > 0
  order by e.function_name, w.started_at, w.worker_id;
end
$$;
