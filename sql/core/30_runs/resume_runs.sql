-- Carries failed and cancelled runs on: a new run of each, which takes over every completed and skipped step and every
-- completed element of a map, and queues only what is missing. The old runs stay as they are.
--
-- run_ids         runs that failed or were cancelled; a run that is given twice is resumed once
-- onto            alias or concrete slug of the new runs; null: the very version of the old run
-- rerun_skipped   run what was skipped because its handler failed, and what depends on it
-- again           although a run was restarted before
--
-- Onto another version goes a run whose finished work means the same there: each step that is taken over has the same
-- type, dependencies and contract, and the contract is stated. Skipped steps stay skipped where pattern and modes are
-- equal, and are decided anew otherwise. Steps that the version lacks drop, new ones are created.
-- Conditions of what is missing are evaluated anew, start delays apply anew. A run with nothing missing completes.
--
-- One row a run, in the order of run_ids:
--   run_id       the old run
--   new_run_id   the new one, linked by pgflow.run_restarts; null: refused
--   refused      why: there is no such run, it is at work or completed, it was restarted before, its flow is retired,
--                finished work means something else on the new version or is gone, or a condition that ends the run
--                still does not hold
-- Locks: the flows for key share, the runs by id for no key update. Errors: 22004 for a null in run_ids; with onto
-- 42704 (no such flow) and 55000 (retired).
create function pgflow.resume_runs(
  run_ids uuid[], onto text default null, rerun_skipped boolean default false, again boolean default false)
returns table (run_id uuid, new_run_id uuid, refused text)
language plpgsql
security definer
set search_path = ''
-- planner: keys
as $$
begin
  return query
  select r.run_id, r.new_run_id, r.refused
  from pgflow._restart_runs(run_ids, onto, null, true, coalesce(rerun_skipped, false), again) r;
end
$$;
