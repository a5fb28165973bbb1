-- For operators: enables functions, all or none, and clears the guard's pause. Refused
-- for one that is disabled and held by the fence of an open deployment: its old code could
-- start, and its new code before the others. The deployment sets the final state when it
-- is applied, and goes back when it is aborted. force: enable it nevertheless.
-- Returns how many functions were named.
-- Locks: the function rows, by name; a fence that is being set is waited for.
-- Errors: 42704, an unknown name; 55000 with the functions and their deployments.
create function pgflow.enable_worker_functions(names text[], force boolean default false)
returns int
language plpgsql
security definer
set search_path = ''
as $$
declare
  enabled int;
begin
  perform pgflow._check_functions_exist(names);
  perform from pgflow.worker_functions f
  where f.function_name = any (names)
  order by f.function_name
  for no key update;

  if not coalesce(force, false) then
    perform pgflow._raise_problems('functions are not enabled', array(
        select format('function "%s" is fenced by deployment "%s"', f.function_name, d.deployment)
        from pgflow.worker_functions f
        cross join lateral pgflow._open_fence(f.function_name) as d (deployment)
        where f.function_name = any (names) and not f.enabled and d.deployment is not null
        order by f.function_name),
      'object_not_in_prerequisite_state',
      'The deployment sets the final state when it is applied, or goes back: pgflowctl rollout MANIFEST status says where '
      'it stands. --force (force => true) lifts its fence.');
  end if;

  update pgflow.worker_functions f
  set enabled = true, paused_at = null, pause_reason = null,
      updated_at = greatest(clock_timestamp(), f.updated_at)
  where f.function_name = any (names);
  get diagnostics enabled = row_count;
  perform pgflow._tell_hosts(names);
  return enabled;
end
$$;
