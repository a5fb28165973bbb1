-- The engine: applies a batch of results over any mix of runs, flows and queues. Everything that ends an attempt goes
-- through here. Arrays are parallel, one element an item; see _judge_results for the fence and the verdicts.
--
-- A batch of plain completions that end their runs is five statements: lock runs, write tasks, write states, write
-- runs, archive. What a batch does not contain (failures, retries, maps that fill, skips, dependents, events) costs
-- nothing.
-- Gives back the verdicts by item (none for a task that does not exist), and the queues with a message visible now.
-- Locks: runs by id, tasks by (run, step, index), then messages; step states are written under the run's lock.
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
  tasks record;
  step record;
  map record;
  skipped record;
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

  select t.* into tasks
  from pgflow._settle_tasks(worker_id, run_ids, step_slugs, task_indexes, claim_nos, results, outputs, errors,
                            retry_afters) t;
  verdicts := tasks.verdicts;
  if cardinality(tasks.dead_messages) = 0 and tasks.has_retries is not true then
    return;
  end if;

  select c.finished, c.failed, c.full_maps into step from pgflow._count_results(verdicts) c;
  if cardinality(step.full_maps) > 0 then
    select m.finished, m.failed into map from pgflow._close_maps(step.full_maps) m;
    step.finished := step.finished || map.finished;
    step.failed := step.failed || map.failed;
  end if;
  if tasks.has_skips then
    select s.queue_names, s.message_ids into skipped from pgflow._end_tasks(step.finished, 'skipped') s;
    tasks.dead_queues := tasks.dead_queues || skipped.queue_names;
    tasks.dead_messages := tasks.dead_messages || skipped.message_ids;
  end if;
  if cardinality(step.finished) > 0 or cardinality(step.failed) > 0 then
    select a.woken, a.dead_queues, a.dead_messages into tail
    from pgflow._advance(step.finished, '{}', '{}', step.failed, steps_left, '{}') a;
    woken := tail.woken;
    tasks.dead_queues := tasks.dead_queues || tail.dead_queues;
    tasks.dead_messages := tasks.dead_messages || tail.dead_messages;
  end if;

  perform pgflow._archive(tasks.dead_queues, tasks.dead_messages);
  if tasks.has_retries then
    woken := woken || pgflow._delay_retries(verdicts);
  end if;
  if cardinality(woken) > 0 then
    perform pgflow._notify(woken);
  end if;
end
$$;
