-- Says that a worker has ended. Again: no change. Unknown: no change.
-- Locks: the worker row.
create function pgflow.mark_worker_stopped(worker_id uuid)
returns void
language sql
security definer
set search_path = ''
as $$
  update pgflow.workers w
  set stopped_at = greatest(clock_timestamp(), w.started_at)
  where w.worker_id = $1 and w.stopped_at is null
$$;
