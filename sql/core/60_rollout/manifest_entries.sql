-- The entries of a loaded manifest, in its order: what the guide's statements are
-- driven by. modules are in lower case; exactly one of flow_slug and queue_name is set.
-- Locks: none. Errors: 42704 unknown deployment.
create function pgflow.manifest_entries(deployment text)
returns table (
  function_name text,
  flow_slug text,
  queue_name text,
  action text,
  enabled boolean,
  start_mode text,
  modules text[]
)
language plpgsql
stable
set search_path = ''
as $$
#variable_conflict use_column
declare
  loaded pgflow.deployment_manifest := pgflow._find_manifest(deployment);
begin
  return query
  select e.function_name, e.flow_slug, e.queue_name, e.action, e.enabled, e.start_mode, e.modules
  from pgflow._manifest_entries(loaded.manifest) as e;
end
$$;
