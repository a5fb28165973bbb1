-- Queues with queued tasks that have no message there, so that nobody can claim them: a row a queue with their number
-- and the time the first of them was queued. Maintenance sends them anew, so what stays here longer than a round of it
-- (15 s) waits for a host, or for a lock. It compares every queued task with its queue; for people, not for programs.
-- A queue that is gone is passed over: doctor names it itself.
-- Locks: none.
create function pgflow.lost_tasks()
returns table (queue_name text, tasks bigint, oldest_queued_at timestamptz)
language plpgsql
security definer
set search_path = ''
-- planner: keys
as $$
begin
  for queue_name in select q.queue_name from pgflow.queues q order by q.queue_name loop
    continue when to_regclass(format('pgmq.%I', pgmq.format_table_name(queue_name, 'q'))) is null;
    execute format(
      'select count(*), min(t.queued_at) from pgflow.step_tasks t'
      ' where t.queue_name = $1 and t.status = ''queued'''
      ' and not exists (select from pgmq.%I m where m.msg_id = t.message_id offset 0)',
      pgmq.format_table_name(queue_name, 'q'))
    into tasks, oldest_queued_at using queue_name;
    if tasks > 0 then
      return next;
    end if;
  end loop;
end
$$;
