-- Starts ended runs over: a new run of each, with the same input, from the beginning. The old runs stay as they are.
--
-- run_ids   runs that completed, failed or were cancelled; a run that is given twice is restarted once
-- onto      alias or concrete slug of the new runs; null: the very version of the old run
-- again     although a run was restarted before
--
-- One row a run, in the order of run_ids:
--   run_id       the old run
--   new_run_id   the new one, linked by pgflow.run_restarts; null: refused
--   refused      why: there is no such run, it is at work, it was restarted before, its flow is retired or needs another
--                input
-- Locks: the flows for key share, the runs by id for no key update. Errors: 22004 for a null in run_ids; with onto
-- 42704 (no such flow) and 55000 (retired).
create function pgflow.retry_runs(run_ids uuid[], onto text default null, again boolean default false)
returns table (run_id uuid, new_run_id uuid, refused text)
language plpgsql
security definer
set search_path = ''
-- planner: keys
as $$
begin
  return query
  select r.run_id, r.new_run_id, r.refused from pgflow._restart_runs(run_ids, onto, null, false, false, again) r;
end
$$;
