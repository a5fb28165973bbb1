-- Says that nobody goes on with a deployment; its status is closed from then on. Nothing
-- else changes. A closed one is returned as it is.
-- Locks: the manifest's row.
-- Errors: 42704 unknown deployment; 55000 its fence holds functions, or it is on its way back.
create function pgflow.close_manifest(deployment text, out closed text, out closed_at timestamptz, out closed_by text)
language plpgsql
set search_path = ''
as $$
#variable_conflict use_column
declare
  loaded pgflow.deployment_manifest := pgflow._require_manifest(close_manifest.deployment);
begin
  if loaded.closed_at is not null then
    closed := loaded.deployment;
    closed_at := loaded.closed_at;
    closed_by := loaded.closed_by;
    return;
  end if;
  perform pgflow._raise_problems(
    format('deployment "%s" cannot be closed', loaded.deployment), array(
      select * from pgflow._ended(loaded)
      union all
      select format('its fence holds function "%s"', e.function_name)
      from pgflow._manifest_entries(loaded.manifest) as e
      where loaded.aborting_at is null and pgflow._open_fence(e.function_name) = loaded.deployment),
    'object_not_in_prerequisite_state',
    format('Apply it, or take it back: select * from pgflow.abort_manifest(%L).', loaded.deployment));
  update pgflow.deployment_manifest d
  set closed_at = clock_timestamp(), closed_by = session_user
  where d.deployment = loaded.deployment
  returning d.deployment, d.closed_at, d.closed_by into closed, closed_at, closed_by;
end
$$;
