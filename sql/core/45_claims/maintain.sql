-- The housekeeping that every host calls every 15 seconds, alone in its
-- transaction: messages that were lost, recovery, and the rows of workers gone for
-- an hour. One at a time: while another session is at it, this returns 0 at once.
-- A lock that is not to be had within 2 s costs its queue or its run this round,
-- and no other; without that the statement's timeout would end the whole round.
-- Returns the number of tasks requeued.
-- Locks: an advisory lock (try), then those of _renew_queues and requeue_stalled_tasks, then worker
-- rows by skip locked, then those of _watch_queues. A row is kept while a started task names it, so that a
-- fence which waits for that task can still find its function.
create function pgflow.maintain()
returns int
language plpgsql
security definer
set search_path = ''
set lock_timeout = '2s'
-- planner: keys
as $$
declare
  requeued int;
begin
  if not pg_try_advisory_xact_lock(-1885826167, 1) then
    return 0;
  end if;

  begin
    perform pgflow._renew_queues();
  exception when others then
    raise warning 'maintenance: messages that were lost: % (%)', sqlerrm, sqlstate;
  end;
  requeued := pgflow.requeue_stalled_tasks();
  with gone as materialized (
    select w.worker_id
    from pgflow.workers w
    where w.last_heartbeat_at <= clock_timestamp() - interval '1 hour'
       or w.stopped_at <= clock_timestamp() - interval '1 hour'
    order by w.worker_id
    for update skip locked
  ), named as materialized (
    -- All that is started is read once, and only when somebody is gone.
    select distinct t.last_worker_id
    from (select x.last_worker_id from pgflow.step_tasks x where x.status = 'started' offset 0) t
    where exists (select from gone)
  ), unnamed as materialized (
    select g.worker_id from gone g where not exists (select from named n where n.last_worker_id = g.worker_id)
  )
  delete from pgflow.workers w using unnamed u where w.worker_id = any (array[u.worker_id]);
  -- Last, because it locks tables: nothing may be waited for after it.
  perform pgflow._watch_queues();
  return requeued;
end
$$;
