-- The manifest of a deployment, unlocked. Errors: 42704 unknown.
create function pgflow._find_manifest(deployment text)
returns pgflow.deployment_manifest
language plpgsql
stable
set search_path = ''
as $$
declare
  found_row pgflow.deployment_manifest;
begin
  select d.* into found_row
  from pgflow.deployment_manifest d
  where d.deployment = _find_manifest.deployment;
  if not found then
    perform pgflow._raise_unknown_manifest(deployment);
  end if;
  return found_row;
end
$$;
