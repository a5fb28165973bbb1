-- Which step a rollout is at, what it waits for, and what else is to be known: one row a
-- step of the guide (docs/operations/rollout.md), in order. Steps 3 and 4 are for a
-- manifest that replaces; 8 to 10 wait for nothing where no old version is left.
--
-- state       done; now: the one to do; later. A deployment that nobody goes on with is one
--             row, step 0: superseded (later deployments took over all of its functions),
--             aborting (on its way back), aborted, closed
-- waits_for   readable lines; the statement to run where it is the operator's turn
-- notes       readable lines that nothing waits for, as old code that stands by for good
-- It tells facts, afresh each time: a step falls back when a worker dies, a fence is lifted
-- by hand, a pin is lifted, or old code is at work.
-- Locks: none. Errors: 42704 unknown deployment.
create function pgflow.rollout_progress(deployment text)
returns table (step int, name text, state text, waits_for text[], notes text[])
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
  return query select * from pgflow._ended_rollout(loaded);
  if found then
    return;
  end if;
  return query
  with waits as materialized (
    select * from pgflow._fence_waits(loaded)
    union all
    select * from pgflow._service_waits(loaded)
  ),
  remarks as materialized (
    select * from pgflow._rollout_notes(loaded)
  ),
  steps (step, name, is_needed) as (
    values (1, 'load', true), (2, 'fence', true), (3, 'deprecate', replaces), (4, 'wait', replaces), (5, 'deploy', true),
           (6, 'apply', true), (7, 'confirm', true), (8, 'switch', true), (9, 'drain', true), (10, 'retire', true)
  ),
  lines as (
    select s.step, s.name, array(select w.line from waits w where w.step = s.step) as waits_for,
           array(select r.line from remarks r where r.step = s.step order by 1) as notes
    from steps s
    where s.is_needed
  ),
  turn as (
    select coalesce(min(l.step), 11) as step from lines l where l.waits_for <> '{}'
  )
  select l.step, l.name, case when l.step < t.step then 'done' when l.step = t.step then 'now' else 'later' end, l.waits_for,
         l.notes
  from lines l, turn t
  order by l.step;
end
$$;
