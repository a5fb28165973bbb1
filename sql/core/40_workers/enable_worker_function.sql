-- For operators: enables a function and clears the guard's pause. Hosts that
-- stand by notice it and start; ensure_workers() pings an http one.
-- Locks: the function row. Errors: 42704, an unknown name.
create function pgflow.enable_worker_function(name text)
returns void
language plpgsql
security definer
set search_path = ''
as $$
begin
  perform pgflow._check_functions_exist(array[name]);
  update pgflow.worker_functions f
  set enabled = true, paused_at = null, pause_reason = null,
      updated_at = greatest(clock_timestamp(), f.updated_at)
  where f.function_name = $1;
  perform pgflow._tell_hosts(array[name]);
end
$$;
