-- Step 2 of a rollout: fence_deployment, where that is still to be done.
-- Locks and errors: those of fence_deployment.
create function pgflow.rollout_fence(deployment text)
returns table (fenced text, fenced_at timestamptz)
language plpgsql
set search_path = ''
as $$
#variable_conflict use_column
begin
  if not pgflow._await_step(deployment, 'fence') then
    perform pgflow.fence_deployment(deployment, false);
  end if;
  return query
  select d.deployment, d.fenced_at from pgflow._find_manifest(rollout_fence.deployment) as d;
end
$$;
