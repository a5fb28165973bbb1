-- Locks the tasks of a batch of results and says what each result does (see the type _verdict). A task that does not
-- exist gets no verdict. Changes nothing.
--
-- decided: the items that _complete_tasks has written; they get no verdict here.
-- The fence: with a worker_id a result counts when the task is started under this worker and this claim_no. Without
-- one (old clients) when it is started and not claimed_exact. A 'stalled' one, from recovery, when it is started and
-- still past its deadline: it may have been claimed again since recovery looked.
-- A task given twice in one batch counts once, a completion before anything else; the second is 'again'.
-- A task of a map has an input, its element; the task of a single step has none.
-- Lock and verdict may be one statement: PostgreSQL gives the locked row in its newest version, and nothing else that
-- is read here changes while the run is locked.
-- `any (array[...])`: see docs/internals/sql-engine.md, plans.
-- Locks: the tasks by (run, step, index); the caller holds the runs.
create function pgflow._judge_results(
  worker_id uuid, run_ids uuid[], step_slugs text[], task_indexes int[], claim_nos int[],
  results text[], outputs jsonb[], errors text[], retry_afters int[], decided int[])
returns pgflow._verdict[]
language plpgsql
set search_path = ''
as $$
begin
  return array(
    with task as (
      select i.item, i.result, i.output, i.error, i.retry_after, t.flow_slug, t.run_id, t.step_slug, t.task_index,
             t.queue_name, t.message_id, t.attempts_count, t.status, t.last_worker_id, t.input is not null as is_map,
             case when i.result = 'stalled' then coalesce(t.recover_at <= clock_timestamp(), false)
                  when worker_id is null then not t.claimed_exact
                  else coalesce(t.claim_no = i.claim_no and t.last_worker_id = worker_id, false) end as fenced
      from unnest(run_ids, step_slugs, task_indexes, claim_nos, results, outputs, errors, retry_afters) with ordinality
        as i (run_id, step_slug, task_index, claim_no, result, output, error, retry_after, item)
      join pgflow.step_tasks t
        on t.run_id = any (array[i.run_id]) and t.step_slug = i.step_slug and t.task_index = i.task_index
      where i.item <> all (decided)
      order by i.run_id, i.step_slug, i.task_index
      for no key update of t
    ), turn as (
      select t.*, t.fenced and t.status = 'started' and 1 = row_number() over (
        partition by t.run_id, t.step_slug, t.task_index order by t.fenced desc, t.item) as counts
      from task t
    ), judged as (
      select t.*, v.starved_map, o.base_delay,
        case
          when not t.counts then case when t.fenced then 'again' else 'late' end
          when t.result = 'completed' then case when v.starved_map is null then 'completed' else 'violated' end
          when t.result in ('failed', 'refused') and t.attempts_count < o.max_attempts then 'retry'
          else o.when_exhausted
        end as verdict
      from turn t
      left join lateral (
        -- A map of this run that waits for an array and would not get one.
        select min(d.step_slug) as starved_map
        from pgflow.deps d
        cross join lateral (
          select from pgflow.steps x
          where x.flow_slug = d.flow_slug and x.step_slug = d.step_slug and x.step_type = 'map'
          offset 0) m
        cross join lateral (
          select from pgflow.step_states x where x.run_id = t.run_id and x.step_slug = d.step_slug offset 0) st
        where d.flow_slug = t.flow_slug and d.dep_slug = t.step_slug
          and t.result = 'completed' and not t.is_map and jsonb_typeof(t.output) <> 'array'
      ) v on true
      left join lateral (
        select s.when_exhausted, coalesce(s.opt_max_attempts, f.opt_max_attempts) as max_attempts,
               coalesce(s.opt_base_delay, f.opt_base_delay) as base_delay
        from pgflow.steps s
        cross join lateral (
          select x.opt_max_attempts, x.opt_base_delay from pgflow.flows x where x.flow_slug = s.flow_slug offset 0) f
        where s.flow_slug = t.flow_slug and s.step_slug = t.step_slug and t.result <> 'completed'
        offset 0
      ) o on true
    )
    select row(
      j.item, j.verdict, j.result, j.run_id, j.flow_slug, j.step_slug, j.task_index, j.queue_name, j.message_id,
      j.is_map, j.output,
      case
        when j.verdict in ('again', 'late') then 'the task is ' || j.status || case
          when j.verdict = 'late' and j.status = 'started' then ' by worker ' || coalesce(j.last_worker_id::text, 'unknown')
          else '' end
        when j.verdict = 'violated' then format(
          '[TYPE_VIOLATION] step "%s" feeds map step "%s" and must give an array; it gave type %s',
          j.step_slug, j.starved_map, jsonb_typeof(j.output))
        when j.verdict <> 'completed' then coalesce(nullif(j.error, ''), 'failed without a message')
      end,
      case
        when j.verdict <> 'retry' then null
        when j.retry_after is not null then least(greatest(j.retry_after, 0), 86400)
        else pgflow.calculate_retry_delay(j.base_delay, j.attempts_count)
      end)::pgflow._verdict
    from judged j
    order by j.item
  );
end
$$;
