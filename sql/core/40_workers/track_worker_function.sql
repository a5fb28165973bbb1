-- Records a worker function at the start of one of its workers. A new one is
-- enabled; a known one keeps enabled, pause, debounce and last_invoked_at, so
-- that starting a worker never undoes a fence.
-- Locks: the function row. Errors: 22023, no name
-- or an unknown start_mode.
create function pgflow.track_worker_function(function_name text, start_mode text default 'http')
returns void
language plpgsql
security definer
set search_path = ''
as $$
begin
  perform pgflow._check_function(function_name, start_mode);
  insert into pgflow.worker_functions as f (function_name, start_mode)
  values ($1, $2)
  on conflict on constraint worker_functions_pkey do update
  set start_mode = excluded.start_mode,
      updated_at = greatest(clock_timestamp(), f.updated_at);
end
$$;
