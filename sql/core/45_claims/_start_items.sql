-- Marks the started items of a claim as started: attempt and claim counted,
-- worker recorded, recovery deadline set from the timeout given at this claim.
-- exact: claimed by exact pair, so that only the fenced result counts.
-- The key is compared by `= any (array[...])` here and in its neighbours: a plain
-- equality may be joined by scanning the task table in index order, which a plan
-- made while the table was small would do, and keep.
-- Locks: none; the tasks are locked by this transaction.
create function pgflow._start_items(items pgflow._claim_item[], worker_id uuid, exact boolean)
returns void
language plpgsql
set search_path = ''
-- planner: loops
set plan_cache_mode = force_generic_plan
set jit = off
as $$
declare
  moment timestamptz := clock_timestamp();
begin
  update pgflow.step_tasks t
  set status = 'started',
      started_at = greatest(moment, t.queued_at),
      attempts_count = i.attempt,
      claim_no = i.claim_no,
      claimed_exact = exact,
      recover_at = moment + make_interval(secs => i.timeout + 30),
      last_worker_id = $2
  from unnest(items) i
  where i.outcome = 'started'
    and t.run_id = any (array[i.run_id])
    and t.step_slug = i.step_slug
    and t.task_index = i.task_index;
end
$$;
