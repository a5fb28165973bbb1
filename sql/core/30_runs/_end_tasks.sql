-- Ends the live tasks of steps that ended without them: as 'skipped' those of a step that was skipped because a handler
-- failed for good (a map has more than one), as 'cancelled' those of a run that failed or was cancelled. Gives back
-- their messages for the caller to archive.
-- Hosts that work on tasks of an ended run are told at once: their handlers are to be cancelled.
-- Waits for a claim or a release that holds a task; whatever they made of it, queued or started, it ends.
-- Locks: the tasks by (run, step, index); the caller holds the runs.
create function pgflow._end_tasks(
  steps pgflow._step_ref[],
  status text,
  out queue_names text[],
  out message_ids bigint[]
)
language plpgsql
set search_path = ''
as $$
declare
  worker_ids uuid[];
begin
  with live as (
    select t.run_id, t.step_slug, t.task_index, t.status = 'started' as is_started
    from unnest(steps) s
    join pgflow.step_tasks t on t.run_id = any (array[s.run_id]) and t.step_slug = s.step_slug
    where t.status in ('queued', 'started')
    order by s.run_id, s.step_slug, t.task_index
    for no key update of t
  ), ended as (
    update pgflow.step_tasks t
    set status = _end_tasks.status,
        recover_at = null
    from live l
    where t.run_id = any (array[l.run_id]) and t.step_slug = l.step_slug and t.task_index = l.task_index
    returning t.queue_name, t.message_id, case when l.is_started then t.last_worker_id end as worker_id
  )
  select array_agg(e.queue_name), array_agg(e.message_id), array_agg(distinct e.worker_id) filter (where e.worker_id is not null)
  into queue_names, message_ids, worker_ids
  from ended e;

  if status = 'cancelled' and worker_ids is not null then
    perform pgflow._tell_hosts(pgflow._functions_of_workers(worker_ids));
  end if;
end
$$;
