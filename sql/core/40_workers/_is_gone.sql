-- The one definition of a worker that is gone: stopped, or silent for 30 seconds.
-- Neither live nor gone: deprecated or silent since a short while.
create function pgflow._is_gone(w pgflow.workers)
returns boolean
language sql
set search_path = ''
as $$
  select w.stopped_at is not null
      or w.last_heartbeat_at <= clock_timestamp() - interval '30 seconds'
$$;
