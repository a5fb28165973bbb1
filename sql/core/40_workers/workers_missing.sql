-- Enabled process functions without a live working worker: what a supervisor
-- should have running and has not. last_heartbeat_at: of its latest row, if any.
-- Locks: none.
create function pgflow.workers_missing()
returns table (function_name text, last_heartbeat_at timestamptz)
language sql
stable
security definer
set search_path = ''
-- planner: keys
as $$
  select f.function_name, (
    select max(w.last_heartbeat_at) from pgflow.workers w where w.function_name = f.function_name)
  from pgflow.worker_functions f
  where f.enabled
    and f.start_mode = 'process'
    and not exists (
      select
      from pgflow.workers w
      where w.function_name = f.function_name and not w.standby and pgflow._is_live(w))
  order by f.function_name
$$;
