-- For operators: disables functions, all or none. Whatever the guard wrote is
-- cleared: from then on the disable is the operator's, and running workers of
-- these functions stop too. Returns how many functions were named.
-- Deprecate in a transaction of its own, afterwards.
-- Locks: the function rows, by name. Errors: 42704, an unknown name.
create function pgflow.disable_worker_functions(names text[])
returns int
language plpgsql
security definer
set search_path = ''
as $$
declare
  disabled int;
begin
  perform pgflow._check_functions_exist(names);
  with locked as (
    select f.function_name
    from pgflow.worker_functions f
    where f.function_name = any (names)
    order by f.function_name
    for no key update
  )
  update pgflow.worker_functions f
  set enabled = false, paused_at = null, pause_reason = null,
      updated_at = greatest(clock_timestamp(), f.updated_at)
  from locked
  where f.function_name = locked.function_name;
  get diagnostics disabled = row_count;
  perform pgflow._tell_hosts(names);
  return disabled;
end
$$;
