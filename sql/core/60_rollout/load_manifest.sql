-- Loads the manifest of a deployment, {deployment, scope, entries: [{functionName,
-- serves: {flow | queue}, action, enabled, startMode, modules}]}, and returns its
-- row. Loading the same again changes nothing; another one of the same name
-- replaces it until it is fenced or applied. Old manifests stay, for audit.
-- Locks: the manifest's row.
-- Errors: 22023 not valid; 55000 a consumer of an affected queue is left out, a
--         replaced or kept function serves what does not exist, or the deployment has begun.
create function pgflow.load_manifest(manifest jsonb)
returns pgflow.deployment_manifest
language plpgsql
set search_path = ''
as $$
declare
  problems text[] := array(select * from pgflow._manifest_problems(manifest));
  loaded pgflow.deployment_manifest;
begin
  perform pgflow._raise_problems(
    format('manifest "%s" is not valid', coalesce(manifest ->> 'deployment', '(none)')), problems,
    'invalid_parameter_value', 'docs/operations/rollout.md says what each field must be.');
  perform pgflow._raise_manifest_problems(
    manifest ->> 'deployment', array(select * from pgflow._unknown_services(manifest)),
    'Give the concrete slug of a compiled flow, or the queue that the function serves: the tables pgflow.flows and '
    'pgflow.queues list them.');
  perform pgflow._raise_manifest_problems(
    manifest ->> 'deployment', array(select * from pgflow._left_out_functions(manifest)),
    'Every function that consumes an affected queue needs an entry; "scope": "handler" leaves out the other queues '
    'of the same flows.');

  insert into pgflow.deployment_manifest as d (deployment, manifest)
  values (load_manifest.manifest ->> 'deployment', load_manifest.manifest)
  on conflict on constraint deployment_manifest_pkey do update
  set manifest = excluded.manifest, loaded_at = clock_timestamp()
  where d.manifest <> excluded.manifest and d.fenced_at is null and d.applied_at is null;

  select d.* into loaded
  from pgflow.deployment_manifest d
  where d.deployment = load_manifest.manifest ->> 'deployment';
  if loaded.manifest <> load_manifest.manifest then
    perform pgflow._raise_manifest_problems(
      loaded.deployment, array['its deployment has begun, with another manifest'],
      'Give the changed manifest a deployment name of its own.');
  end if;
  return loaded;
end
$$;
