-- Cancels the live tasks of runs that failed or were cancelled. Gives back their messages for the caller to archive.
-- Waits for a claim or a release that holds a task; whatever they made of it, queued or started, it is cancelled.
-- Locks: the tasks by (run, step, index); the caller holds the runs. Callers: _advance, cancel_run.
create function pgflow._cancel_tasks(run_ids uuid[], out queue_names text[], out message_ids bigint[])
language plpgsql
set search_path = ''
as $$
begin
  with live as (
    select t.run_id, t.step_slug, t.task_index
    from pgflow.step_tasks t
    where t.run_id = any (run_ids) and t.status in ('queued', 'started')
    order by t.run_id, t.step_slug, t.task_index
    for no key update
  ), ended as (
    update pgflow.step_tasks t
    set status = 'cancelled',
        recover_at = null
    from live l
    where t.run_id = any (array[l.run_id]) and t.step_slug = l.step_slug and t.task_index = l.task_index
    returning t.queue_name, t.message_id
  )
  select array_agg(e.queue_name), array_agg(e.message_id) into queue_names, message_ids
  from ended e;
end
$$;
