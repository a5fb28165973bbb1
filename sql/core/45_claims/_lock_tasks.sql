-- The claim's second statement: locks the tasks that own these messages and
-- returns the message ids of those it got. A statement of its own, after the
-- read: its snapshot is younger, so it sees every task whose message was read.
-- The lateral with limit 1 leaves the plan one look-up a message. Asked by `message_id = any (...)`, a plan made while
-- the table was small or empty walks over all tasks of the queue, and is kept.
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
    from unnest(message_ids) m (msg_id)
    cross join lateral (
      select x.message_id
      from pgflow.step_tasks x
      where x.queue_name = lower($1) and x.message_id = m.msg_id
      limit 1
      for update skip locked
    ) t
  );
end
$$;
