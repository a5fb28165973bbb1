-- What decides whether a worker of this function may start: enabled, and what
-- explains it. No row: the function is not tracked.
-- Hosts of 0.1 ask here and cannot say what they carry. When a pin keeps every one of them
-- that stands by for the function away, enabled is false: they would start, be refused and
-- ask again with each heartbeat. None stands by: the next one to come may be right. Hosts
-- since protocol 2 ask worker_fence.
-- 1 at startup and while standing by. Locks: none.
create function pgflow.worker_function_state(name text)
returns table (enabled boolean, paused_at timestamptz, pause_reason jsonb)
language sql
stable
security definer
set search_path = ''
as $$
  select f.enabled and not coalesce(old_hosts.are_shut_out, false), f.paused_at, f.pause_reason
  from pgflow.worker_functions f
  cross join lateral (
    select bool_and(pgflow._pin_fence(w) is not null) as are_shut_out
    from pgflow.workers w
    where w.function_name = f.function_name and w.stopped_at is null and w.standby and pgflow._is_live(w)
      and not pgflow._knows_pins(w.info)
  ) old_hosts
  where f.function_name = $1
$$;
