-- Makes the triggers of one queue that note whose message is taken away, unless it has them. A queue that waits for
-- tasks gets the note that any of them may be without: nobody watched until now.
-- Locks: the queue's table against writers, until the end of the transaction. So it waits a tenth of a second at most,
-- less than a deadlock takes to be found, and a caller does it last. Returns whether the queue is watched now; a lock
-- that is not to be had, or an owner that is not ours, is left for the next round.
create function pgflow._watch_queue(queue_name text)
returns boolean
language plpgsql
set search_path = ''
set lock_timeout = '100ms'
as $$
declare
  qtable text := pgmq.format_table_name(queue_name, 'q');
begin
  if pgflow._is_watched(queue_name) then
    return true;
  end if;
  execute format('lock table pgmq.%I in share row exclusive mode', qtable);
  if pgflow._is_watched(queue_name) then
    return true;
  end if;
  execute format(
    'create trigger pgflow_taken after delete on pgmq.%I referencing old table as taken for each statement'
    ' when (pg_catalog.current_setting(''pgflow.takes_messages'', true) is distinct from ''on'')'
    ' execute function pgflow._note_lost_messages(%L)', qtable, queue_name);
  execute format(
    'create trigger pgflow_purged after truncate on pgmq.%I for each statement'
    ' execute function pgflow._note_lost_messages(%L)', qtable, queue_name);

  insert into pgflow.lost_messages (queue_name)
  select $1
  where exists (select from pgflow.step_tasks t where t.queue_name = $1 and t.status = 'queued');
  return true;
exception
  when lock_not_available or insufficient_privilege or undefined_table then
    return false;
end
$$;
