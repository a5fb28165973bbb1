-- Step 2 of a rollout: fence_manifest, where that is still to be done.
-- Locks and errors: those of fence_manifest.
-- Callers: operators (the guide).
create function pgflow.rollout_fence(deployment text)
returns pgflow.deployment_manifest
language plpgsql
set search_path = ''
as $$
begin
  if pgflow._await_step(deployment, 'fence') then
    return pgflow._find_manifest(deployment);
  end if;
  return pgflow.fence_manifest(deployment, false);
end
$$;
