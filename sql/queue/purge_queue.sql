-- Removes every live message of a queue; returns how many there were.
-- Locks: access exclusive on the queue's table. Errors: 42P01, no such queue.
create function pgmq.purge_queue(queue_name text)
returns bigint
language plpgsql
set search_path = ''
as $$
declare
  qtable text := pgmq.format_table_name(queue_name, 'q');
  removed bigint;
begin
  execute format('lock table pgmq.%I in access exclusive mode', qtable);
  execute format('select count(*) from pgmq.%I', qtable) into removed;
  execute format('truncate table pgmq.%I', qtable);
  return removed;
end
$$;
