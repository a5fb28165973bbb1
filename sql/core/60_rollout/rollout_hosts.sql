-- Step 5 of a rollout: raises until a host with the modules of the manifest is there for
-- each function that is replaced or added; then who is there: manifest_workers, with the
-- reason that keeps a row away (_pin_fence).
-- Locks: none. Errors: 42704 unknown deployment; 55000 with the functions.
create function pgflow.rollout_hosts(deployment text)
returns table (
  function_name text, action text, worker_id uuid, host text, pid text, state text, live boolean, right_modules boolean,
  modules jsonb)
language plpgsql
set search_path = ''
as $$
#variable_conflict use_column
begin
  perform pgflow._require_step(deployment, 'deploy');
  return query
  select w.function_name, w.action, w.worker_id, w.host, w.pid, w.state, w.live, w.right_modules, w.modules
  from pgflow.manifest_workers(deployment) as w
  where w.action in ('replace', 'add') and w.state <> 'stopped' and not w.deprecated;
end
$$;
