-- The claim's second statement: locks the tasks that own these messages and
-- returns the message ids of those it got. A statement of its own, after the
-- read: its snapshot is younger, so it sees every task whose message was read.
-- Locks: the task rows, by skip locked: a claim waits for nothing.
create function pgflow._lock_tasks(queue_name text, message_ids bigint[])
returns bigint[]
language plpgsql
set search_path = ''
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
set jit = off
as $$
begin
  return array(
    select t.message_id
    from pgflow.step_tasks t
    where t.queue_name = lower($1)
      and t.message_id = any ($2)
    for update skip locked
  );
end
$$;
