-- Tasks whose message somebody took off its queue: a purge, a delete or an archive by hand. Written by the triggers
-- that _watch_queue makes and by _note_lost_tasks, emptied by _resend_lost within one round of maintenance. An entry
-- is a hint: whether a task is queued without a message is tested anew, under its lock.
--
-- run_id, step_slug, task_index   the task; all null: any task of the queue may be one
create table pgflow.lost_messages (
  lost_id bigint generated always as identity primary key,
  queue_name text not null,
  run_id uuid,
  step_slug text,
  task_index int,
  noticed_at timestamptz not null default clock_timestamp()
);

create index lost_messages_of_any_task on pgflow.lost_messages (queue_name) where run_id is null;
