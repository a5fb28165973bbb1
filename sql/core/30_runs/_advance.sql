-- The part of the engine that starts and results share: carries runs on from steps that changed until nothing more
-- changes, then closes runs, creates tasks, sends events. Set-based over any mix of runs and flows.
--
-- finished     steps just completed or skipped, their dependents not told yet
-- ready        created steps without open dependencies that need a decision (a condition, a map)
-- opened       steps just started, their tasks not created yet
-- failed       steps just failed; each fails its run. note: the error
-- steps_left   sum of remaining_steps of the runs before this call: when all of them finished, nobody is told
-- new_runs     runs made by this call
-- Gives back the queues with a message visible now, and the messages of cancelled tasks, for the caller to archive
-- after its own task locks.
--
-- A round that finishes a step with dependents costs one statement (_free_dependents), a decision one more
-- (_open_steps); a step that leaves nothing to do costs none.
-- Locks: the caller holds every run's row (or made it).
create function pgflow._advance(
  finished pgflow._step_ref[],
  ready pgflow._step_ref[],
  opened pgflow._step_ref[],
  failed pgflow._step_ref[],
  steps_left bigint,
  new_runs uuid[],
  out woken text[],
  out dead_queues text[],
  out dead_messages bigint[]
)
language plpgsql
set search_path = ''
as $$
declare
  closed pgflow._step_ref[] := finished;
  fallen pgflow._step_ref[];
  step record;
begin
  loop
    if cardinality(finished) > 0 and steps_left > cardinality(closed) then
      fallen := pgflow._skip_downstream(finished, failed);
      closed := closed || fallen;
      select f.opened, f.ready into step from pgflow._free_dependents(finished || fallen, failed) f;
      opened := opened || step.opened;
      ready := ready || step.ready;
    end if;
    exit when cardinality(ready) = 0;

    select o.opened, o.finished, o.failed into step from pgflow._open_steps(ready) o;
    opened := opened || step.opened;
    failed := failed || step.failed;
    closed := closed || step.finished;
    finished := step.finished;
    ready := '{}';
  end loop;

  failed := failed || pgflow._close_runs(case when cardinality(failed) = 0 then closed else array(
    select c from unnest(closed) c where c.run_id <> all (array(select f.run_id from unnest(failed) f))) end);
  if cardinality(failed) > 0 then
    opened := pgflow._fail_runs(failed, opened);
    select c.queue_names, c.message_ids into dead_queues, dead_messages
    from pgflow._end_tasks(array(
      select row(st.run_id, st.flow_slug, st.step_slug, null)::pgflow._step_ref
      from pgflow.step_states st
      where st.run_id = any (array(select f.run_id from unnest(failed) f)) and st.status in ('started', 'failed')
    ), 'cancelled') c;
  end if;
  if cardinality(opened) > 0 then
    woken := pgflow._create_tasks(opened);
  end if;

  if pgflow._wants_events() then
    perform pgflow._send_events(new_runs, closed || failed || opened);
  end if;
end
$$;
