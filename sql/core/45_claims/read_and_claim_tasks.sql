-- Reads up to qty visible messages of a queue and claims their tasks, in one
-- round trip, by the pairs that the worker registered.
--
-- read_vt  seconds for which a message stays hidden whose task another session
--          has locked (a read's visibility); every other outcome sets its own
-- held     registered pairs that this host cannot run just now
-- Returns one pgflow.claim_row a message, or a single 'fenced' or 'empty' row.
--
-- An empty claim reads three rows, probes the index on vt, and takes no lock and
-- no transaction id. Once something is visible: the worker's row for share, so
-- that a deprecation waits for this claim and a later claim sees it; then the
-- messages, then the tasks, both by skip locked: it waits for nothing. For the
-- worker's row, or a table that somebody keeps locked, it waits 5 s (55P03): the
-- results behind it on the connection have leases to keep.
-- Errors: 42P01, the queue is gone; 22023, a bad qty or read_vt.
create function pgflow.read_and_claim_tasks(
  queue_name text, qty int, read_vt int, worker_id uuid, held pgflow.task_pair[] default '{}')
returns setof pgflow.claim_row
language plpgsql
security definer
set search_path = ''
set lock_timeout = '5s'
-- planner: keys
as $$
declare
  moment timestamptz := clock_timestamp();
  worker pgflow.workers;
  next_due timestamptz;
  lowest timestamptz;
  batch pgflow._message_batch;
  reason text;
begin
  if qty is null or qty < 1 or read_vt is null or read_vt < 0 then
    raise exception 'read_and_claim_tasks: qty % and read_vt %', qty, read_vt
      using errcode = 'invalid_parameter_value', hint = 'qty is at least 1, read_vt at least 0 seconds.';
  end if;

  select w.* into worker from pgflow.workers w where w.worker_id = $4;
  -- Whoever is kept away is told so even when the queue is gone.
  if worker.worker_id is not null and worker.deprecated_at is null and worker.stopped_at is null and not worker.standby
    and (lower(worker.queue_name) <> lower(queue_name)) is not true then
    begin
      select d.next_due, d.lowest into next_due, lowest from pgflow._due_from_low_water(queue_name, moment) d;
    exception when undefined_table then
      if pgflow._fence_reason(worker, queue_name) is null then
        raise;
      end if;
    end;
  end if;
  if next_due <= moment then
    select w.* into worker from pgflow.workers w where w.worker_id = $4 for share;
  end if;
  -- Once, behind the lock: what changed while the claim waited for it counts.
  reason := pgflow._fence_reason(worker, queue_name);
  if reason is not null then
    return next pgflow._fenced_row(queue_name, reason);
    return;
  elsif next_due is null or next_due > moment then
    return next pgflow._empty_row(queue_name, next_due);
    return;
  end if;

  batch := pgflow._read_due_messages(queue_name, qty, lowest);
  if batch.msg_ids is null then
    -- Others hold what is visible; what they make of it is not ours to wait for.
    return next pgflow._empty_row(queue_name, pgflow._next_due(queue_name, clock_timestamp()));
    return;
  end if;
  return query select c.* from pgflow._claim_batch(
    queue_name, batch, worker_id, pgflow._registered_pairs(worker_id), held, 1,
    clock_timestamp() + make_interval(secs => read_vt), true) c;
end
$$;
