-- Takes a deployment back: one stage a call, each a transaction of its own. Run it until
-- is_done.
--
-- Not fenced: nothing to take back; it is closed.
-- Fenced, final states not set: the functions get the states that the fence found. Where no
-- earlier pin holds, they are pinned to the modules that worked then, for the new hosts that
-- stand by must not start.
-- Final states set: a sequence A backwards. fenced: the functions are disabled and the
-- earlier pins are back. deprecated: their workers end. Then it raises, with what it waits
-- for, until nobody works and the code from before stands by; and then restores.
-- Once new starts go to a version that it brought: refused; the lines say how to go back.
-- A guard's pause is never cleared.
--
-- without_hosts   restore although nobody of the code from before stands by: deliberate
-- lines           what was done, for people
-- Locks: the manifest's row, then function rows by name; then worker rows by id.
-- Errors: 42704 unknown deployment; 55000 refused, or it waits.
create function pgflow.abort_manifest(
  deployment text, without_hosts boolean default false,
  out stage text, out is_done boolean, out lines text[])
language plpgsql
set search_path = ''
as $$
declare
  loaded pgflow.deployment_manifest := pgflow._require_manifest(deployment);
  names text[] := array(select b.function_name from pgflow._way_back(loaded) as b where b.is_fenced order by 1);
  deprecated int;
begin
  is_done := true;
  lines := '{}';
  if loaded.was_aborted then
    stage := 'aborted';
    lines := array(select * from pgflow._ended(loaded));
    return;
  end if;
  perform from pgflow.worker_functions f
  where f.function_name in (select e.function_name from pgflow._manifest_entries(loaded.manifest) as e)
  order by f.function_name
  for update;

  if loaded.aborting_at is null then
    perform pgflow._refuse_abort(loaded);
    if loaded.fenced_at is not null and not pgflow._is_open(loaded) then
      stage := 'fenced';
      is_done := false;
      lines := pgflow._fence_back(loaded);
      return;
    end if;
  else
    deprecated := pgflow._deprecate_other_code(
      names, array(select b.module_sets from pgflow._way_back(loaded) as b where b.is_fenced order by b.function_name),
      loaded.aborting_at);
    if deprecated > 0 then
      stage := 'deprecated';
      is_done := false;
      lines := array[format('deprecated %s', pgflow._counted(deprecated, 'worker'))];
      return;
    end if;
    perform pgflow._raise_problems(
      format('the way back of "%s" waits', loaded.deployment), array(
        select w.line from pgflow._abort_waits(loaded) as w (line)
        where not (coalesce(without_hosts, false) and w.line ~ 'has no live worker that stands by')),
      'object_not_in_prerequisite_state',
      format('Put the code from before in place and restart its hosts; then run this again. Without them: '
             'select * from pgflow.abort_manifest(%L, without_hosts => true).', loaded.deployment));
  end if;

  stage := case when loaded.fenced_at is null then 'closed' else 'restored' end;
  if loaded.fenced_at is not null then
    if loaded.aborting_at is null then
      perform pgflow._restore_pins(loaded);
    end if;
    lines := pgflow._restore_states(loaded);
  end if;
  update pgflow.deployment_manifest d
  set closed_at = clock_timestamp(), closed_by = session_user, was_aborted = true
  where d.deployment = loaded.deployment;
end
$$;
