-- Locks and returns the manifest of a deployment. Errors: 42704 unknown.
create function pgflow._require_manifest(deployment text)
returns pgflow.deployment_manifest
language plpgsql
set search_path = ''
as $$
declare
  found_row pgflow.deployment_manifest;
begin
  select d.* into found_row
  from pgflow.deployment_manifest d
  where d.deployment = _require_manifest.deployment
  for update;
  if not found then
    perform pgflow._raise_unknown_manifest(deployment);
  end if;
  return found_row;
end
$$;
