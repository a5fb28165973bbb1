-- Ends or requeues the tasks of a batch of results: plain completions in one statement, what is left by its verdict.
-- Gives back the verdicts (none for a task that does not exist), whether there are retries and skipped steps among
-- them, and the messages of the tasks that ended, for the caller to archive.
-- Locks: the tasks by (run, step, index); the caller holds the runs.
create function pgflow._settle_tasks(
  worker_id uuid, run_ids uuid[], step_slugs text[], task_indexes int[], claim_nos int[],
  results text[], outputs jsonb[], errors text[], retry_afters int[],
  out verdicts pgflow._verdict[],
  out has_retries boolean,
  out has_skips boolean,
  out dead_queues text[],
  out dead_messages bigint[]
)
language plpgsql
set search_path = ''
as $$
declare
  others pgflow._verdict[];
  tally record;
begin
  select c.verdicts, c.queue_names, c.message_ids into verdicts, dead_queues, dead_messages
  from pgflow._complete_tasks(worker_id, run_ids, step_slugs, task_indexes, claim_nos, results, outputs) c;
  if cardinality(verdicts) = cardinality(run_ids) then
    return;
  end if;

  others := pgflow._judge_results(worker_id, run_ids, step_slugs, task_indexes, claim_nos, results, outputs, errors,
                                  retry_afters, array(select v.item from unnest(verdicts) v));
  select bool_or(v.verdict = 'retry') as retries,
         bool_or(v.verdict in ('skip', 'skip-cascade')) as skips,
         bool_or(v.verdict not in ('again', 'late')) as effects,
         array_agg(v.queue_name) filter (where v.verdict not in ('again', 'late', 'retry')) as queue_names,
         array_agg(v.message_id) filter (where v.verdict not in ('again', 'late', 'retry')) as message_ids
  into tally
  from unnest(others) v;
  if tally.effects then
    perform pgflow._record_results(others);
  end if;
  verdicts := verdicts || others;
  has_retries := tally.retries;
  has_skips := tally.skips;
  dead_queues := dead_queues || tally.queue_names;
  dead_messages := dead_messages || tally.message_ids;
end
$$;
