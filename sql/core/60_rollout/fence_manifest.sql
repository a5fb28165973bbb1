-- Begins a deployment: inserts every manifest function that has no row, disabled,
-- with its start mode (existing rows untouched), disables all that are replaced, in
-- one statement, and notes the time: a guard that pauses a function later holds up
-- apply_manifest. Workers are deprecated in a transaction of its own after this.
-- Repeating it fences again, from now.
-- Locks: the manifest's row, then function rows by name.
-- Errors: 42704 unknown deployment.
-- Callers: operators (pgflowctl rollout).
create function pgflow.fence_manifest(deployment text)
returns pgflow.deployment_manifest
language plpgsql
set search_path = ''
as $$
declare
  loaded pgflow.deployment_manifest := pgflow._require_manifest(deployment);
  -- Before the disable: a guard's pause of another function meanwhile is after it.
  moment timestamptz := clock_timestamp();
begin
  perform pgflow.insert_worker_function(e.function_name, e.start_mode)
  from (select * from pgflow._manifest_entries(loaded.manifest) order by function_name) as e;

  perform pgflow.disable_worker_functions(array(
    select e.function_name
    from pgflow._manifest_entries(loaded.manifest) as e
    where e.action = 'replace'
    order by e.function_name));

  update pgflow.deployment_manifest d set fenced_at = moment
  where d.deployment = loaded.deployment
  returning d.* into loaded;
  return loaded;
end
$$;
