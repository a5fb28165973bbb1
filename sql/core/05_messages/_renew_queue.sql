-- Looks at one queue for the signs that messages were lost while their tasks wait, each cheap to look for:
-- - The last id that the queue gave is below one that a task has: it was dropped and made anew, or restored without its
--   sequence. (queue, message id) names old tasks there, so no new task could be sent: its ids go on behind them.
-- - Nobody watches it (_watch_queue): it is new, or was made anew.
-- - It is empty while a task is queued on it: an unlogged table after a crash.
-- - It was purged: a note that names no task.
-- Then the queue is compared as a whole. Messages that were taken one by one are noted one by one and need no sign.
-- A sequence begun anew has given no id yet (is_called), which pg_sequence_last_value cannot tell from none at all.
-- `setval` takes no lock that a sender would wait for. A rollback (of --check) leaves it done, and that is harmless:
-- the other signs stay.
-- Returns whether its ids were moved. Locks: the queue's table against a drop, then as _note_lost_tasks. Errors: 42P01, the queue is gone.
create function pgflow._renew_queue(queue_name text)
returns boolean
language plpgsql
set search_path = ''
as $$
declare
  qtable text := pgmq.format_table_name(queue_name, 'q');
  ids text := pg_get_serial_sequence(format('pgmq.%I', qtable), 'msg_id');
  last_id bigint := (select max(t.message_id) from pgflow.step_tasks t where t.queue_name = $1);
  given_id bigint;
  is_emptied boolean;
begin
  -- The table before its sequence, as a drop takes them.
  execute format('lock table pgmq.%I in access share mode', qtable);
  -- One statement, one snapshot: a task and its message come and go together. The newest ids are the living ones.
  -- A table that a crash emptied has no page. Whether one with pages is empty is not asked: where all of it was worked
  -- off and not vacuumed, that would be found out from each dead row.
  execute format(
    'select s.last_value - (not s.is_called)::int,'
    ' case when pg_relation_size(%L) = 0'
    ' then exists (select from pgflow.step_tasks t where t.queue_name = $1 and t.status = ''queued'')'
    ' and not exists (select from pgmq.%I m order by m.msg_id desc limit 1) else false end from %s s',
    format('pgmq.%I', qtable), qtable, ids)
  into given_id, is_emptied using queue_name;

  if given_id < last_id then
    execute format(
      'select setval(%L, %s) from %s s where s.last_value - (not s.is_called)::int < %2$s', ids, last_id, ids);
  end if;
  if coalesce(given_id < last_id, false) or is_emptied or not pgflow._is_watched(queue_name)
     or exists (select from pgflow.lost_messages l where l.queue_name = $1 and l.run_id is null) then
    perform pgflow._note_lost_tasks(queue_name);
  end if;
  return coalesce(given_id < last_id, false);
end
$$;
