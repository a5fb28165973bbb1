-- Drops a queue, its messages and its archive; false (and a notice) when there
-- is none of that name. Any spelling of the name finds it.
-- Locks: the queue's advisory lock, access exclusive on both tables.
create function pgmq.drop_queue(queue_name text)
returns boolean
language plpgsql
set search_path = ''
as $$
begin
  perform pg_advisory_xact_lock(hashtext('pgmq.queue_' || lower(queue_name)));

  delete from pgmq.meta m where lower(m.queue_name) = lower($1);
  if not found then
    raise notice 'pgmq queue `%` does not exist', queue_name;
    return false;
  end if;
  execute format('drop table if exists pgmq.%I', pgmq.format_table_name(queue_name, 'q'));
  execute format('drop table if exists pgmq.%I', pgmq.format_table_name(queue_name, 'a'));
  return true;
end
$$;
