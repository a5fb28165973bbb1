-- Which step a rollout is at, and what it waits for: one row a step of the guide
-- (docs/operations/rollout.md), in order. Steps 3 and 4 are for a manifest that
-- replaces; 8 to 10 wait for nothing where no old version is left.
--
-- state       done; now: the one to do; later
-- waits_for   readable lines; the statement to run where it is the operator's turn
-- Looked at afresh each time: a step may fall back, as when a worker dies.
-- Locks: none. Errors: 42704 unknown deployment.
-- Callers: operators (pgflowctl rollout status).
create function pgflow.rollout_status(deployment text)
returns table (step int, name text, state text, waits_for text[])
language plpgsql
stable
set search_path = ''
as $$
#variable_conflict use_column
declare
  loaded pgflow.deployment_manifest := pgflow._find_manifest(deployment);
  replaces boolean := exists (
    select from pgflow._manifest_entries(loaded.manifest) as e where e.action = 'replace');
begin
  return query
  with waits as materialized (
    select * from pgflow._fence_waits(loaded)
    union all
    select * from pgflow._service_waits(loaded)
  ),
  steps (step, name, is_needed) as (
    values (1, 'load', true), (2, 'fence', true), (3, 'deprecate', replaces), (4, 'wait', replaces), (5, 'deploy', true),
           (6, 'apply', true), (7, 'confirm', true), (8, 'switch', true), (9, 'drain', true), (10, 'retire', true)
  ),
  lines as (
    select s.step, s.name, array(select w.line from waits w where w.step = s.step) as waits_for
    from steps s
    where s.is_needed
  ),
  turn as (
    select coalesce(min(l.step), 11) as step from lines l where l.waits_for <> '{}'
  )
  select l.step, l.name, case when l.step < t.step then 'done' when l.step = t.step then 'now' else 'later' end, l.waits_for
  from lines l, turn t
  order by l.step;
end
$$;
