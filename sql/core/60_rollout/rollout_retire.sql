-- Step 10 of a rollout, one stage a call, each a transaction of its own: deprecated, where
-- workers of the retired functions are not told yet; else retired, the old versions. Call it
-- until the step is done. Of old versions whose functions are keep-draining, retire the
-- functions first: retirement_manifest.
-- Locks and errors: those of deprecate_function_workers and retire_flow; 42704 unknown
-- deployment; 55000 with what an earlier step waits for.
create function pgflow.rollout_retire(deployment text)
returns table (stage text, name text)
language plpgsql
set search_path = ''
as $$
#variable_conflict use_column
declare
  names text[] := array(
    select distinct w.function_name
    from pgflow.manifest_workers(deployment) as w
    where w.action = 'retire' and w.state <> 'stopped' and not w.deprecated
    order by 1);
begin
  if pgflow._await_step(deployment, 'retire') then
    return;
  end if;
  if names <> '{}' then
    perform pgflow.deprecate_function_workers(names);
    return query select 'deprecated', n.name from unnest(names) as n (name);
    return;
  end if;
  for name in
    select o.flow_slug from pgflow._old_versions(pgflow._find_manifest(deployment)) as o order by 1
  loop
    stage := 'retired';
    perform pgflow.retire_flow(rollout_retire.name);
    return next;
  end loop;
end
$$;
