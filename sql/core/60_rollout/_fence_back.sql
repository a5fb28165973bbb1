-- The first stage of the way back of an applied deployment: its functions are disabled,
-- what a guard paused excepted, and the earlier pins count again. Returns what was done.
create function pgflow._fence_back(loaded pgflow.deployment_manifest)
returns text[]
language plpgsql
set search_path = ''
as $$
declare
  names text[] := array(
    select b.function_name
    from pgflow._way_back(loaded) as b
    join pgflow.worker_functions f on f.function_name = b.function_name and f.paused_at is null
    where b.is_fenced
    order by 1);
begin
  perform pgflow.disable_worker_functions(names);
  perform pgflow._restore_pins(loaded);
  update pgflow.deployment_manifest d set aborting_at = clock_timestamp() where d.deployment = loaded.deployment;
  return array(select format('function "%s" is fenced', n) from unnest(names) as n);
end
$$;
