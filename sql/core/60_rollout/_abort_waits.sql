-- What the way back of an applied deployment still waits for, as readable lines: workers of
-- its functions that are not told yet, or still work or hold tasks, and hosts of the code
-- from before, which are to stand by.
-- Locks: none.
create function pgflow._abort_waits(loaded pgflow.deployment_manifest)
returns setof text
language sql
stable
set search_path = ''
-- planner: keys
as $$
  with rows as (
    select b.function_name, b.module_sets, w.worker_id, w.standby, w.started_at, w.stopped_at, w.deprecated_at,
           pgflow._is_gone(w) as is_gone,
           (select count(*) from pgflow.step_tasks t where t.status = 'started' and t.last_worker_id = w.worker_id) as tasks
    from pgflow._way_back(loaded) as b
    join pgflow.workers w on w.function_name = b.function_name
    where b.is_fenced
  )
  select format('worker %s of function "%s" is not deprecated: select pgflow.deprecate_function_workers(%L)', r.worker_id, r.function_name,
                array[r.function_name])
  from rows r
  where r.stopped_at is null and r.deprecated_at is null and r.started_at < loaded.aborting_at
  union all
  select format('worker %s of function "%s" %s', r.worker_id, r.function_name,
                case when r.tasks > 0 then 'has ' || pgflow._counted(r.tasks, 'started task') else 'is still working' end)
  from rows r
  where r.tasks > 0 or (r.stopped_at is null and not r.standby and not r.is_gone)
  union all
  select format('function "%s" has no live worker that stands by with the code from before%s', b.function_name,
                coalesce(' (' || pgflow._show_module_sets(b.module_sets) || ')', ''))
  from pgflow._way_back(loaded) as b
  join pgflow.worker_functions f on f.function_name = b.function_name and f.start_mode = 'process'
  where b.is_fenced and b.enabled
    and (f.paused_at is null or f.paused_at < loaded.fenced_at)
    and not exists (
      select
      from pgflow.workers w
      where w.function_name = b.function_name and w.stopped_at is null and pgflow._is_live(w)
        and (b.module_sets is null or pgflow._carries_one_of(w.info -> 'modules', b.module_sets)))
$$;
