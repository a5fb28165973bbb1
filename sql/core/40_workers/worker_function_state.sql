-- What decides whether a worker of this function may start: enabled, and what
-- explains it. No row: the function is not tracked.
-- Hosts of 0.1 ask here and cannot say what they carry. When a pin keeps every one of them
-- that stands by for the function away, enabled is false: they would start, be refused and
-- ask again with each heartbeat. Hosts since protocol 2 ask worker_fence.
-- 1 at startup and while standing by. Locks: none.
create function pgflow.worker_function_state(name text)
returns table (enabled boolean, paused_at timestamptz, pause_reason jsonb)
language sql
stable
security definer
set search_path = ''
as $$
  select f.enabled and not pgflow._shuts_out_old_hosts(f.function_name), f.paused_at, f.pause_reason
  from pgflow.worker_functions f
  where f.function_name = $1
$$;
