-- Ends a deployment: gives every manifest function the final state that it declares,
-- in one statement, and returns them. What happened to be enabled before plays no
-- part. Applying again is the same; pauses from before the fence are cleared.
-- Refused, by name, while old code could come back (_workers_of_other_code), a guard
-- paused a function after the fence, a function is not there, not fenced or in a later
-- deployment, a consumer of an affected queue is not in the manifest, or a retired function would
-- leave work without a worker.
-- Locks: the manifest's row, then function rows by name; the tests come after that.
-- Errors: 42704 unknown deployment; 55000 refused.
-- Callers: operators (pgflowctl rollout).
create function pgflow.apply_manifest(deployment text)
returns table (function_name text, enabled boolean)
language plpgsql
set search_path = ''
as $$
#variable_conflict use_column
declare
  loaded pgflow.deployment_manifest := pgflow._require_manifest(deployment);
begin
  perform from pgflow.worker_functions f
  where f.function_name in (select e.function_name from pgflow._manifest_entries(loaded.manifest) as e)
  order by f.function_name
  for update;

  perform pgflow._raise_manifest_problems(
    loaded.deployment, array(select * from pgflow._unready_functions(loaded)),
    format('Fence first: select pgflow.fence_manifest(%L). After a pause, repair what it names and fence again. What '
           'belongs to a later deployment is left to that one, or fenced again to come back to this one.',
           loaded.deployment));
  perform pgflow._raise_manifest_problems(
    loaded.deployment, array(select * from pgflow._left_out_functions(loaded.manifest)),
    'Load a manifest that names it, under another deployment name.');
  perform pgflow._raise_manifest_problems(
    loaded.deployment, array(select * from pgflow._workers_of_other_code(loaded)),
    'Stop those processes, then select pgflow.deprecate_workers(...) for their functions.');
  perform pgflow._raise_manifest_problems(
    loaded.deployment, array(select * from pgflow._work_left_behind(loaded.manifest)),
    'Keep its workers until pgflow.drain_status(...) of those flows says safe_to_retire.');

  perform pgflow._write_pins(loaded);
  update pgflow.deployment_manifest d set applied_at = clock_timestamp() where d.deployment = loaded.deployment;
  perform pgflow._tell_hosts(array(select e.function_name from pgflow._manifest_entries(loaded.manifest) as e));
  return query
  update pgflow.worker_functions f
  set enabled = e.enabled, paused_at = null, pause_reason = null, updated_at = clock_timestamp()
  from pgflow._manifest_entries(loaded.manifest) as e
  where f.function_name = e.function_name
  returning f.function_name, f.enabled;
end
$$;
