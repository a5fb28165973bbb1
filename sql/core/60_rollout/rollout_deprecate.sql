-- Step 3 of a rollout: deprecates the workers of the replaced functions that work, and
-- those of other code that stand by, in a transaction of its own; how many. Hosts that
-- stand by with the modules of the manifest stay, however often this is run.
-- Errors: 42704 unknown deployment; 55000 the fence comes first.
create function pgflow.rollout_deprecate(deployment text)
returns int
language plpgsql
set search_path = ''
as $$
declare
  loaded pgflow.deployment_manifest;
begin
  perform pgflow._await_step(deployment, 'deprecate');
  loaded := pgflow._find_manifest(deployment);
  if not pgflow._is_open(loaded) then
    return 0;
  end if;
  return pgflow._deprecate_other_code(
    array(select e.function_name from pgflow._own_entries(loaded) as e where e.action = 'replace' order by 1),
    array(select e.module_sets from pgflow._own_entries(loaded) as e where e.action = 'replace' order by e.function_name),
    loaded.fenced_at);
end
$$;
