-- Sends the message of a queued task anew and records its id, because the one it
-- had is gone from the queue (purged, or archived by hand).
-- Locks: none; the caller holds the task's row.
create function pgflow._resend_task(
  run_id uuid, step_slug text, task_index int, queue_name text, delay int)
returns void
language sql
set search_path = ''
as $$
  update pgflow.step_tasks t
  set message_id = (
    select s
    from pgmq.send($4, jsonb_build_object(
      'flow_slug', t.flow_slug, 'run_id', t.run_id, 'step_slug', t.step_slug,
      'task_index', t.task_index), $5) s)
  where t.run_id = $1 and t.step_slug = $2 and t.task_index = $3
$$;
