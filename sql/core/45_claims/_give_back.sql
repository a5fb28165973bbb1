-- Gives started tasks back: queued again, the attempt not counted, the claim
-- number moved on so that a late result of it is fenced off, the message visible
-- after delay seconds. handler_started[i]: counts a release of a started handler.
-- Parallel arrays of task keys, all locked and seen as started by the caller.
-- Locks: the message rows.
create function pgflow._give_back(
  run_ids uuid[], step_slugs text[], task_indexes int[], handler_started boolean[], delay int)
returns void
language plpgsql
set search_path = ''
-- planner: loops
set jit = off
as $$
declare
  queue_names text[];
  message_ids bigint[];
begin
  with given as (
    update pgflow.step_tasks t
    set status = 'queued',
        started_at = null,
        recover_at = null,
        attempts_count = greatest(t.attempts_count - 1, 0),
        claim_no = t.claim_no + 1,
        released_count = t.released_count + coalesce(g.started, false)::int
    from unnest(run_ids, step_slugs, task_indexes, handler_started)
           with ordinality as g(run_id, step_slug, task_index, started, place)
    where t.run_id = any (array[g.run_id]) and t.step_slug = g.step_slug and t.task_index = g.task_index
    returning g.place, t.queue_name, t.message_id
  )
  select array_agg(g.queue_name order by g.place), array_agg(g.message_id order by g.place)
  into queue_names, message_ids
  from given g;

  perform pgflow._notify(pgflow._show_tasks(
    run_ids, step_slugs, task_indexes, queue_names, message_ids,
    array_fill(delay, array[cardinality(run_ids)])));
end
$$;
