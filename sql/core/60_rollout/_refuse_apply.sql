-- Raises why the final states of a manifest may not be set now; none: returns.
-- Locks: none. Errors: 55000.
create function pgflow._refuse_apply(loaded pgflow.deployment_manifest, without_hosts boolean)
returns void
language plpgsql
set search_path = ''
as $$
begin
  perform pgflow._raise_manifest_problems(
    loaded.deployment, array(select * from pgflow._ended(loaded)),
    'Load the manifest under another deployment name.');
  perform pgflow._raise_manifest_problems(
    loaded.deployment, array(select * from pgflow._unready_functions(loaded)),
    format('Fence first: select * from pgflow.fence_deployment(%L). After a pause, repair what it names and fence again. '
           'Leave what belongs to a later deployment to that one, or fence again to come back to this one.',
           loaded.deployment));
  perform pgflow._raise_manifest_problems(
    loaded.deployment, array(select * from pgflow._left_out_functions(loaded.manifest)),
    'Load a manifest that names it, under another deployment name.');
  perform pgflow._raise_manifest_problems(
    loaded.deployment, array(select * from pgflow._workers_of_other_code(loaded)),
    format('Stop those processes, then select pgflow.rollout_deprecate(%L); wait for their tasks.', loaded.deployment));
  perform pgflow._raise_manifest_problems(
    loaded.deployment, array(select * from pgflow._work_left_behind(loaded.manifest)),
    'Keep its workers until pgflow.drain_status(...) of those flows says safe_to_retire.');
  if not without_hosts then
    perform pgflow._raise_manifest_problems(
      loaded.deployment, array(select * from pgflow._missing_hosts(loaded)),
      format('Start the hosts of the function with the new modules: they stand by. To apply without them: '
             'select * from pgflow.apply_deployment(%L, without_hosts => true).', loaded.deployment));
  end if;
end
$$;
