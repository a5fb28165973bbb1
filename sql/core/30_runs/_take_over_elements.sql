-- Opens maps of which the completed elements are taken over: decides their condition and counts their elements anew,
-- copies the completed tasks, without messages, and makes tasks for the rest. Gives back the maps that are finished
-- (skipped, or nothing is missing) and those that failed, and the queues with a message visible now.
--
-- partial   the maps of the new runs
-- Locks: none; the caller made the runs.
create function pgflow._take_over_elements(
  partial pgflow._step_ref[],
  out finished pgflow._step_ref[],
  out failed pgflow._step_ref[],
  out woken text[]
)
language plpgsql
set search_path = ''
as $$
declare
  opened pgflow._step_ref[];
  closed record;
begin
  select o.opened, o.finished, o.failed into opened, finished, failed from pgflow._open_steps(partial) o;

  with map as materialized (
    select a.run_id as old_run_id, o.*
    from unnest(opened) o
    cross join lateral (
      select x.restart_of_run_id as run_id from pgflow.run_restarts x where x.run_id = o.run_id offset 0) a
  ), taken as (
    insert into pgflow.step_tasks
      (flow_slug, run_id, step_slug, task_index, queue_name, status, attempts_count, claim_no, claimed_exact, input, output,
       queued_at, started_at, completed_at, last_worker_id, requeued_count, last_requeued_at, released_count)
    select m.flow_slug, m.run_id, m.step_slug, t.task_index, s.queue_name, t.status, t.attempts_count, t.claim_no,
           t.claimed_exact, t.input, t.output, t.queued_at, t.started_at, t.completed_at, t.last_worker_id,
           t.requeued_count, t.last_requeued_at, t.released_count
    from map m
    cross join lateral (
      select x.queue_name from pgflow.steps x where x.flow_slug = m.flow_slug and x.step_slug = m.step_slug offset 0) s
    cross join lateral (
      select x.* from pgflow.step_tasks x
      where x.run_id = m.old_run_id and x.step_slug = m.step_slug and x.status || '' = 'completed'
      offset 0) t
    returning run_id, step_slug
  )
  update pgflow.step_states st
  set remaining_tasks = st.remaining_tasks - n.tasks
  from (select t.run_id, t.step_slug, count(*)::int as tasks from taken t group by t.run_id, t.step_slug) n
  where st.run_id = any (array[n.run_id]) and st.step_slug = n.step_slug;

  woken := pgflow._create_missing_tasks(opened);

  select c.finished, c.failed into closed
  from pgflow._close_maps(array(
    select o
    from unnest(opened) o
    cross join lateral (
      select x.remaining_tasks from pgflow.step_states x where x.run_id = o.run_id and x.step_slug = o.step_slug offset 0) st
    where st.remaining_tasks = 0)) c;
  finished := finished || closed.finished;
  failed := failed || closed.failed;
end
$$;
