-- Gives back every started task of this worker but the claims named: what a claim
-- took whose answer never arrived. Called after each reconnect, with no claim in
-- flight on any connection, and once more a statement deadline later.
--
-- Parallel arrays: every claim whose result is not acknowledged, finished
-- handlers included. Returns the number given back.
-- Locks: the worker's row for update first, so it waits for a claim that still
-- runs on a lost connection (that claim holds the row for share); then the tasks
-- by skip locked: one that is locked is being finished or recovered. Then messages.
-- Errors: 22023, arrays of different length.
create function pgflow.release_tasks_except(
  worker_id uuid, run_ids uuid[], step_slugs text[], task_indexes int[], claim_nos int[])
returns int
language plpgsql
security definer
set search_path = ''
-- planner: keys
as $$
declare
  -- Deadlines of its claims are later than it is itself, with room for a clock that was set back.
  claimed_after timestamptz;
  lost record;
begin
  perform pgflow._check_same_length(
    'release_tasks_except', run_ids, step_slugs, task_indexes, claim_nos);
  select w.started_at - interval '10 minutes' into claimed_after
  from pgflow.workers w where w.worker_id = $1 for update;

  with lost as materialized (
    select t.run_id, t.step_slug, t.task_index
    from (
      -- The index of what is started, and nothing else: see docs/internals/sql-engine.md, plans.
      select x.run_id, x.step_slug, x.task_index, x.claim_no
      from pgflow.step_tasks x
      where x.status = 'started' and x.last_worker_id = $1
        and x.recover_at >= coalesce(claimed_after, '-infinity')
      offset 0
    ) t
    where not exists (
      select
      from unnest(run_ids, step_slugs, task_indexes, claim_nos)
             as h(run_id, step_slug, task_index, claim_no)
      where h.run_id = t.run_id and h.step_slug = t.step_slug
        and h.task_index = t.task_index and h.claim_no = t.claim_no)
    order by t.run_id, t.step_slug, t.task_index
  ), locked as (
    select l.run_id, l.step_slug, l.task_index
    from lost l
    cross join lateral (
      select from pgflow.step_tasks x
      where x.run_id = l.run_id and x.step_slug = l.step_slug and x.task_index = l.task_index
        and x.status || '' = 'started' and x.last_worker_id = $1
      for update skip locked
      offset 0
    ) t
  )
  select array_agg(l.run_id) as run_ids, array_agg(l.step_slug) as step_slugs,
         array_agg(l.task_index) as task_indexes, count(*)::int as how_many
  into lost
  from locked l;

  if lost.how_many > 0 then
    perform pgflow._give_back(
      lost.run_ids, lost.step_slugs, lost.task_indexes,
      array_fill(false, array[lost.how_many]), 0);
  end if;
  return lost.how_many;
end
$$;
