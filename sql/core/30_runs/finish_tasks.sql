-- Reports a batch of results over any mix of runs and flows; what hosts call. Arrays are parallel.
--
-- results       completed | failed (tried again while attempts are left) | permanent
-- outputs       JSON text of completed items; null is the JSON null
-- errors        text of the others
-- retry_afters  seconds until the next attempt, 0 to a day, instead of the step's backoff
-- Per item, by its place from 1: outcome
--   completed   recorded
--   retrying    failed; queued again (detail: seconds until it can be claimed)
--   failed      failed for good, and with it the run (detail: the error)
--   skipped     failed for good; its step was skipped (detail: the error)
--   refused     the output is not storable; counted as a failed attempt (detail: the reason)
--   again       this very claim's result was recorded before, or its task ended without it (detail: its status)
--   late        the claim is no longer this worker's (detail: the task's status)
--   gone        no such task
-- new_work: this call made a message visible now on the worker's queue; the same in every row.
-- Never an exception for one item. Errors: invalid_parameter_value, for arguments that are malformed as a whole.
-- A lock that is not to be had within 2 s fails the call (lock_not_available): the host sends the others without that
-- run. Waiting for it would hold up everything behind it on the connection.
-- Locks: runs by id, tasks by (run, step, index), then messages.
create function pgflow.finish_tasks(
  worker_id uuid,
  run_ids uuid[],
  step_slugs text[],
  task_indexes int[],
  claim_nos int[],
  results text[],
  outputs text[],
  errors text[],
  retry_afters int[] default null
)
returns table (item int, outcome text, detail text, new_work boolean)
language plpgsql
security definer
set search_path = ''
set lock_timeout = '2s'
-- planner: keys
as $$
declare
  given record;
  done record;
  wakes_own_queue boolean := false;
begin
  perform pgflow._check_results(worker_id, run_ids, step_slugs, task_indexes, claim_nos, results, outputs, errors,
                                retry_afters);
  select c.results, c.parsed, c.errors into given from pgflow._cast_outputs(results, outputs, errors) c;
  select a.verdicts, a.woken into done
  from pgflow._apply_results(worker_id, run_ids, step_slugs, task_indexes, claim_nos, given.results, given.parsed,
                             given.errors, retry_afters) a;

  if cardinality(done.woken) > 0 then
    wakes_own_queue := exists (
      select from pgflow.workers w
      where w.worker_id = finish_tasks.worker_id and lower(w.queue_name) = any (done.woken));
  end if;
  return query
    select v.item,
           case when v.result = 'refused' and v.verdict not in ('again', 'late') then 'refused'
                else case v.verdict when 'retry' then 'retrying' when 'fail' then 'failed' when 'violated' then 'failed'
                                    when 'skip' then 'skipped' when 'skip-cascade' then 'skipped' else v.verdict end
           end,
           case when v.verdict = 'retry' and v.result <> 'refused' then v.delay::text else v.error end, wakes_own_queue
    from unnest(done.verdicts) v;
  if cardinality(done.verdicts) < cardinality(run_ids) then
    return query
      select i.item, 'gone', 'there is no such task', wakes_own_queue
      from generate_series(1, cardinality(run_ids)) as i (item)
      where i.item <> all (array(select v.item from unnest(done.verdicts) v));
  end if;
end
$$;
