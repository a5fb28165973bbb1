-- Why nobody can go on with a deployment, as a readable line: it was aborted, is on its way
-- back, or was closed. None: somebody can.
create function pgflow._ended(loaded pgflow.deployment_manifest)
returns setof text
language sql
immutable
set search_path = ''
as $$
  select case when loaded.was_aborted then format('it was aborted at %s by %s', loaded.closed_at, loaded.closed_by)
              when loaded.closed_at is not null then format('it was closed at %s by %s', loaded.closed_at, loaded.closed_by)
              else format('it is on its way back since %s: select pgflow.abort_manifest(%L)', loaded.aborting_at, loaded.deployment) end
  where loaded.closed_at is not null or loaded.aborting_at is not null
$$;
