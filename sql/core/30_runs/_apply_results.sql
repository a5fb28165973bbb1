-- The engine: applies a batch of results over any mix of runs, flows and queues. Everything that ends an attempt goes
-- through here. Arrays are parallel, one element an item; see _judge_results for the fence and the verdicts.
--
-- A batch of plain completions that end their runs is six statements: lock runs, lock and judge tasks, write tasks,
-- write states, write runs, archive. What a batch does not contain (maps that fill, skips, dependents, failures,
-- retries, events) costs nothing.
-- Gives back the verdicts by item (none for a task that does not exist), and the queues with a message visible now.
-- Locks: runs by id, tasks by (run, step, index), then messages; step states are written under the run's lock.
-- Callers: finish_tasks, complete_task, fail_task, _fail_stalled.
create function pgflow._apply_results(
  worker_id uuid, run_ids uuid[], step_slugs text[], task_indexes int[], claim_nos int[],
  results text[], outputs jsonb[], errors text[], retry_afters int[],
  out verdicts pgflow._verdict[],
  out woken text[]
)
language plpgsql
set search_path = ''
as $$
declare
  steps_left bigint;
  has record;
  step record;
  map record;
  dead_queues text[];
  dead_messages bigint[];
  tail record;
begin
  select sum(r.remaining_steps) into steps_left
  from (
    select x.remaining_steps
    from pgflow.runs x
    where x.run_id = any (run_ids)
    order by x.run_id
    for no key update
  ) r;

  verdicts := pgflow._judge_results(worker_id, run_ids, step_slugs, task_indexes, claim_nos,
                                    results, outputs, errors, retry_afters);
  select bool_or(v.verdict not in ('again', 'late')) as effects,
         bool_or(v.verdict = 'retry') as retries,
         bool_or(v.verdict in ('skip', 'skip-cascade')) as skips,
         array_agg(v.queue_name) filter (where v.verdict not in ('again', 'late', 'retry')) as queue_names,
         array_agg(v.message_id) filter (where v.verdict not in ('again', 'late', 'retry')) as message_ids
  into has
  from unnest(verdicts) v;
  if has.effects is not true then
    return;
  end if;

  select r.finished, r.failed, r.full_maps into step from pgflow._record_results(verdicts) r;
  if cardinality(step.full_maps) > 0 then
    select m.finished, m.failed into map from pgflow._close_maps(step.full_maps) m;
    step.finished := step.finished || map.finished;
    step.failed := step.failed || map.failed;
  end if;
  if has.skips then
    select s.queue_names, s.message_ids into dead_queues, dead_messages
    from pgflow._end_tasks(step.finished, 'skipped') s;
  end if;
  if cardinality(step.finished) > 0 or cardinality(step.failed) > 0 then
    select a.woken, a.dead_queues, a.dead_messages into tail
    from pgflow._advance(step.finished, '{}', '{}', step.failed, steps_left, '{}') a;
    woken := tail.woken;
    dead_queues := dead_queues || tail.dead_queues;
    dead_messages := dead_messages || tail.dead_messages;
  end if;

  perform pgflow._archive(has.queue_names || dead_queues, has.message_ids || dead_messages);
  if has.retries then
    woken := woken || pgflow._delay_retries(verdicts);
  end if;
  if cardinality(woken) > 0 then
    perform pgflow._notify(woken);
  end if;
end
$$;
