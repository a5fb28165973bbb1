-- The one definition of a live worker: not stopped, not deprecated, heartbeat
-- younger than 15 seconds. Working or standing by is another question (standby).
create function pgflow._is_live(w pgflow.workers)
returns boolean
language sql
set search_path = ''
as $$
  select w.stopped_at is null
     and w.deprecated_at is null
     and w.last_heartbeat_at > clock_timestamp() - interval '15 seconds'
$$;
