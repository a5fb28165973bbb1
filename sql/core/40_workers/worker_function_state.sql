-- What decides whether a worker of this function may start: enabled, and what
-- explains it. No row: the function is not tracked.
-- Callers: hosts at startup and while standing by. Locks: none.
create function pgflow.worker_function_state(name text)
returns table (enabled boolean, paused_at timestamptz, pause_reason jsonb)
language sql
stable
security definer
set search_path = ''
as $$
  select f.enabled, f.paused_at, f.pause_reason
  from pgflow.worker_functions f
  where f.function_name = $1
$$;
