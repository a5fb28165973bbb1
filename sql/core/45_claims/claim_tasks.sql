-- Claims the tasks of messages that the caller has read before.
--
-- message_ids           as pgmq.read gave them, all of the batch
-- supported_task_pairs  the exact pairs that this worker runs
-- read_cts              read_ct of each message as read: with them the guard
--                       resets exactly what this read still holds
-- Returns one pgflow.claim_row a distinct message, or a single 'fenced' or
-- 'empty' row (no message ids given).
-- Locks: the worker's row for share, then messages and tasks by skip locked.
-- Errors: 42P01, the queue is gone; 22023, read_cts of another length; 40001, the
-- message of a queued task is gone: nothing is started.
create function pgflow.claim_tasks(
  queue_name text, message_ids bigint[], worker_id uuid,
  supported_task_pairs pgflow.task_pair[], read_cts int[] default null)
returns setof pgflow.claim_row
language plpgsql
security definer
set search_path = ''
-- planner: keys
as $$
declare
  worker pgflow.workers;
  batch pgflow._message_batch;
  reason text;
begin
  if read_cts is not null and cardinality(read_cts) <> coalesce(cardinality(message_ids), 0) then
    raise exception 'claim_tasks: % message_ids and % read_cts',
        coalesce(cardinality(message_ids), 0), cardinality(read_cts)
      using errcode = 'invalid_parameter_value', hint = 'Give one read_ct for each message, or null.';
  end if;

  select w.* into worker from pgflow.workers w where w.worker_id = $3;
  if cardinality(message_ids) > 0
    and worker.worker_id is not null and worker.deprecated_at is null and worker.stopped_at is null and not worker.standby
    and (lower(worker.queue_name) <> lower(queue_name)) is not true then
    select w.* into worker from pgflow.workers w where w.worker_id = $3 for share;
  end if;
  -- Once, behind the lock: what changed while the claim waited for it counts.
  reason := pgflow._fence_reason(worker, queue_name);
  if reason is not null then
    return next pgflow._fenced_row(queue_name, reason);
    return;
  elsif coalesce(cardinality(message_ids), 0) = 0 then
    return next pgflow._empty_row(queue_name, pgflow._next_due(queue_name));
    return;
  end if;

  batch := pgflow._take_messages(queue_name, message_ids);
  if read_cts is not null then
    batch.read_cts := array(
      select given.read_ct
      from unnest(batch.msg_ids) with ordinality m(msg_id, place)
      join lateral (
        select min(g.read_ct) as read_ct
        from unnest(message_ids, claim_tasks.read_cts) g(msg_id, read_ct)
        where g.msg_id = m.msg_id) given on true
      order by m.place);
  end if;
  return query select c.* from pgflow._claim_batch(
    queue_name, batch, worker_id, supported_task_pairs, '{}', 0, null, read_cts is not null) c;
end
$$;
