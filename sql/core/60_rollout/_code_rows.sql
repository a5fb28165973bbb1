-- Worker rows of a manifest's functions that carry other code than it gives, as they
-- matter to its end: those that are not stopped, and stopped ones with a started task.
--
-- is_at_work   it may take tasks, or a handler of it may be running: it works and may wake
--              up (not deprecated) or is not gone yet, or it holds started tasks. The others
--              stand by or are gone for good: the pin keeps them away
-- Entries that replace without modules (http): rows from before the fence are old.
-- Locks: none.
create function pgflow._code_rows(loaded pgflow.deployment_manifest)
returns table (worker_id uuid, function_name text, queue_name text, is_at_work boolean, line text)
language sql
stable
set search_path = ''
-- planner: keys
as $$
  with held as (
    select t.last_worker_id, count(*) as tasks
    from pgflow.step_tasks t
    where t.status = 'started'
    group by t.last_worker_id
  ),
  rows as (
    select w.worker_id, w.function_name, w.queue_name, e.module_sets, coalesce(h.tasks, 0) as tasks,
           w.stopped_at is null and not w.standby and (w.deprecated_at is null or not pgflow._is_gone(w)) as works
    from pgflow._own_entries(loaded) as e
    join pgflow.workers w on w.function_name = e.function_name
    left join held h on h.last_worker_id = w.worker_id
    where (w.stopped_at is null or h.tasks > 0)
      and case when e.module_sets is not null then not pgflow._carries_one_of(w.info -> 'modules', e.module_sets)
            else e.action = 'replace' and w.started_at < loaded.fenced_at end
  )
  select r.worker_id, r.function_name, r.queue_name, r.works or r.tasks > 0,
         format('worker %s of function "%s" on queue "%s" %s%s', r.worker_id, r.function_name, r.queue_name,
                case when r.module_sets is null then 'was there before the fence'
                  else 'does not carry exactly the modules of the manifest' end,
                case when r.tasks > 0 then ' and holds ' || pgflow._counted(r.tasks, 'started task')
                     when r.works then ' and is at work'
                     else '; it stands by, and the pin keeps it there' end)
  from rows r
$$;
