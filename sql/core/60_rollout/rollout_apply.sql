-- Step 6 of a rollout: apply_deployment, where that is still to be done; the states of its
-- functions. Raises when it was applied and is not in force any more: somebody lifted a
-- pin, or changed a final state.
-- Locks and errors: those of apply_deployment.
create function pgflow.rollout_apply(deployment text)
returns table (function_name text, enabled boolean)
language plpgsql
set search_path = ''
as $$
#variable_conflict use_column
begin
  if not pgflow._await_step(deployment, 'apply') then
    if not pgflow._is_open(pgflow._find_manifest(deployment)) then
      perform pgflow._require_step(deployment, 'apply');
    end if;
    perform pgflow.apply_deployment(deployment, false);
  end if;
  return query
  select f.function_name, f.enabled
  from pgflow.manifest_entries(deployment) as e
  join pgflow.worker_functions f on f.function_name = e.function_name;
end
$$;
