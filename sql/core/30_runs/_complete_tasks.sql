-- The short way of a completed task, and that of nearly all: fence, lock and write in one statement. An item that this
-- leaves alone (its fence fails, its output is none that a map of its run can take, it did not complete) is for
-- _judge_results, which says why.
--
-- The fence is the one of _judge_results. It is tested on the newest version of the row: an update that waited for
-- another session tests its conditions anew.
-- A task of a map has an input, its element; the task of a single step has none.
-- A task given twice in one batch is written once, by the first item; the other is for _judge_results.
-- Gives back the verdicts, in no order, and beside them the messages to archive.
-- `any (array[...])`, and the status inside a `case`: see docs/internals/sql-engine.md, plans.
-- Locks: the tasks by (run, step, index); the caller holds the runs.
create function pgflow._complete_tasks(
  worker_id uuid, run_ids uuid[], step_slugs text[], task_indexes int[], claim_nos int[],
  results text[], outputs jsonb[],
  out verdicts pgflow._verdict[],
  out queue_names text[],
  out message_ids bigint[]
)
language plpgsql
set search_path = ''
as $$
begin
  with completed as (
    update pgflow.step_tasks t
    set status = 'completed',
        output = i.output,
        recover_at = null,
        completed_at = greatest(clock_timestamp(), t.started_at)
    from (
      select g.*
      from unnest(run_ids, step_slugs, task_indexes, claim_nos, results, outputs) with ordinality
        as g (run_id, step_slug, task_index, claim_no, result, output, item)
      where g.result = 'completed'
      order by g.run_id, g.step_slug, g.task_index, g.item
    ) i
    where t.run_id = any (array[i.run_id]) and t.step_slug = i.step_slug and t.task_index = i.task_index
      and case when t.status <> 'started' then false
               when worker_id is null then not t.claimed_exact
               else t.claim_no = i.claim_no and t.last_worker_id = worker_id end
      and (t.input is not null or jsonb_typeof(i.output) = 'array' or not exists (
        select
        from pgflow.deps d
        cross join lateral (
          select from pgflow.steps x
          where x.flow_slug = d.flow_slug and x.step_slug = d.step_slug and x.step_type = 'map'
          offset 0) m
        where d.flow_slug = t.flow_slug and d.dep_slug = t.step_slug
        offset 0))
    returning i.item, t.run_id, t.flow_slug, t.step_slug, t.task_index, t.queue_name, t.message_id,
              t.input is not null as is_map, i.output
  )
  select coalesce(array_agg(row(c.item, 'completed', 'completed', c.run_id, c.flow_slug, c.step_slug, c.task_index,
                                c.queue_name, c.message_id, c.is_map, c.output, null, null)::pgflow._verdict), '{}'),
         coalesce(array_agg(c.queue_name), '{}'),
         coalesce(array_agg(c.message_id), '{}')
  into verdicts, queue_names, message_ids
  from completed c;
end
$$;
