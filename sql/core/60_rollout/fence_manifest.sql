-- fence_deployment in the form of 0.1: without force.
-- Locks and errors: those of fence_deployment.
create function pgflow.fence_manifest(deployment text)
returns pgflow.deployment_manifest
language plpgsql
set search_path = ''
as $$
begin
  perform pgflow.fence_deployment(deployment, false);
  return pgflow._find_manifest(deployment);
end
$$;
