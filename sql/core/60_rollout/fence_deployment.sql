-- Begins a deployment: inserts every manifest function that has no row, disabled,
-- with its start mode (existing rows untouched), disables all that are replaced, in
-- one statement, and notes the time: a guard that pauses a function later holds up
-- apply_manifest. What it found is noted too, for abort_manifest. Workers are deprecated
-- in a transaction of its own after this. Repeating it fences again, from now.
--
-- force   also a deployment whose final states are set, or that was closed or aborted: it
--         begins once more, and takes out of service what it put there
-- Locks: the manifest's row, then function rows by name.
-- Errors: 42704 unknown deployment; 55000 its final states are set, or it is closed.
create function pgflow.fence_deployment(
  deployment text, force boolean default false,
  out fenced text, out loaded_at timestamptz, out fenced_at timestamptz, out applied_at timestamptz)
language plpgsql
set search_path = ''
as $$
#variable_conflict use_column
declare
  loaded pgflow.deployment_manifest := pgflow._require_manifest(fence_deployment.deployment);
  -- Before the disable: a guard's pause of another function meanwhile is after it.
  moment timestamptz := clock_timestamp();
  before jsonb;
begin
  if not coalesce(force, false) then
    perform pgflow._raise_manifest_problems(
      loaded.deployment, array(
        select * from pgflow._ended(loaded)
        union all
        select format('its final states are set since %s: to fence it would take its hosts out of service', loaded.applied_at)
        where not pgflow._is_open(loaded)),
      format('Load a changed manifest under another deployment name. To begin this one once more all the same: '
             'select * from pgflow.fence_deployment(%L, force => true).', loaded.deployment));
  end if;

  before := case when loaded.fenced_at is null or not pgflow._is_open(loaded) or loaded.closed_at is not null
                  then pgflow._found_before(loaded, moment)
                else loaded.before_fence end;
  perform pgflow.insert_worker_function(e.function_name, e.start_mode)
  from (select * from pgflow._manifest_entries(loaded.manifest) order by function_name) as e;

  perform pgflow.disable_worker_functions(array(
    select e.function_name
    from pgflow._manifest_entries(loaded.manifest) as e
    where e.action = 'replace'
    order by e.function_name));

  update pgflow.deployment_manifest d
  set fenced_at = moment, before_fence = before, aborting_at = null, closed_at = null, closed_by = null, was_aborted = false
  where d.deployment = loaded.deployment
  returning d.deployment, d.loaded_at, d.fenced_at, d.applied_at into fenced, loaded_at, fenced_at, applied_at;
end
$$;
