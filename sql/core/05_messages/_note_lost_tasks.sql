-- Compares a queue as a whole: notes every queued task that has no message there. It costs a look-up a queued task, so
-- it is for a queue that gave a sign of it (_renew_queue). The notes of before are among the new ones.
-- Locks: the notes of the queue, skip locked. Errors: 42P01, the queue is gone.
create function pgflow._note_lost_tasks(queue_name text)
returns void
language plpgsql
set search_path = ''
-- planner: loops
set jit = off
as $$
begin
  -- Before the comparison and not in it: its snapshot is to see what was taken before these notes were.
  delete from pgflow.lost_messages l
  where l.lost_id in (select x.lost_id from pgflow.lost_messages x where x.queue_name = $1 for update skip locked);

  execute format(
    'insert into pgflow.lost_messages (queue_name, run_id, step_slug, task_index)'
    ' select t.queue_name, t.run_id, t.step_slug, t.task_index'
    ' from pgflow.step_tasks t'
    ' where t.queue_name = $1 and t.status = ''queued'''
    ' and not exists (select from pgmq.%I m where m.msg_id = t.message_id)', pgmq.format_table_name(queue_name, 'q'))
  using queue_name;
end
$$;
