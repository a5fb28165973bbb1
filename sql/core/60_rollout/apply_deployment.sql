-- Ends a deployment: gives every manifest function the final state that it declares, and
-- pins it to the modules that it gives, in one transaction; returns the states. What
-- happened to be enabled before plays no part. Applying again is the same; pauses from
-- before the fence are cleared.
--
-- without_hosts   also while nobody stands by: deliberate, for a site whose hosts are
--                 started afterwards
-- Refused, by name, while workers of other code work or hold started tasks
-- (_workers_of_other_code), nobody stands by for a function (_missing_hosts), a guard paused
-- a function after the fence, a function is not there, not fenced or in a later deployment,
-- a consumer of an affected queue is not in the manifest, or a retired function would leave
-- work without a worker. Rows of other code that stand by are a warning: the pin keeps them.
-- Locks: the manifest's row, then function rows by name; the tests come after that.
-- Errors: 42704 unknown deployment; 55000 refused.
create function pgflow.apply_deployment(deployment text, without_hosts boolean default false)
returns table (function_name text, enabled boolean)
language plpgsql
set search_path = ''
as $$
#variable_conflict use_column
declare
  loaded pgflow.deployment_manifest := pgflow._require_manifest(deployment);
  line text;
begin
  perform from pgflow.worker_functions f
  where f.function_name in (select e.function_name from pgflow._manifest_entries(loaded.manifest) as e)
  order by f.function_name
  for update;

  perform pgflow._refuse_apply(loaded, coalesce(without_hosts, false));
  for line in select c.line from pgflow._code_rows(loaded) as c where not c.is_at_work order by 1 loop
    raise warning '%', line using hint = 'Stop that process: it will not serve this function any more.';
  end loop;

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
