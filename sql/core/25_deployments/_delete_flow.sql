-- Deletes a flow with its runs, tasks and messages, and drops the queues that it
-- owns. Shared queues lose only this flow's active messages. The alias row is the
-- caller's affair (its foreign key is deferred).
-- The table of runs is read as a whole twice: here, and by the foreign key that flows are
-- under. An index for that would cost every run more than a deletion is worth. What
-- belongs to the runs is found by their ids.
-- Locks, in lock order: the flow row for update (starts wait, then find nothing),
-- its runs, its tasks, the tables of its own queues by name, then messages of the
-- others; the caller holds alias and slug.
create function pgflow._delete_flow(flow pgflow.flows)
returns void
language plpgsql
set search_path = ''
-- planner: keys
as $$
declare
  run_ids uuid[];
  own_queues text[];
begin
  perform from pgflow.flows f where f.flow_slug = flow.flow_slug for update;
  -- By the id's text, which is the same order: the key's index would be read with a row at a time.
  run_ids := array(
    select r.run_id from pgflow.runs r where r.flow_slug = flow.flow_slug order by r.run_id::text for update);
  -- Claims lock tasks alone; deleting under their feet would leave them a message.
  perform
  from unnest(run_ids) i (run_id)
  cross join lateral (
    select from pgflow.step_tasks x where x.run_id = i.run_id order by x.step_slug, x.task_index for update
  ) t;

  select array_agg(q.queue_name order by q.queue_name) into own_queues
  from pgflow.queues q
  where q.owner_flow_slug = flow.flow_slug;

  -- Whole tables before rows of others: maintenance reads queues by name and keeps that until it ends, and it may wait
  -- for a row. By the spelling that PGMQ has stored.
  perform pgmq.drop_queue(m.queue_name)
  from (
    select x.queue_name from pgmq.meta x where lower(x.queue_name) = any (own_queues) order by lower(x.queue_name)
  ) m;

  perform pgflow._archive(array_agg(t.queue_name), array_agg(t.message_id))
  from unnest(run_ids) i (run_id)
  cross join lateral (
    select x.queue_name, x.message_id
    from pgflow.step_tasks x
    where x.run_id = i.run_id and x.status || '' in ('queued', 'started')
      and x.queue_name <> all (coalesce(own_queues, '{}'))
    offset 0
  ) t;

  delete from pgflow.step_tasks t using unnest(run_ids) i (run_id) where t.run_id = any (array[i.run_id]);
  delete from pgflow.step_states s using unnest(run_ids) i (run_id) where s.run_id = any (array[i.run_id]);
  delete from pgflow.idempotency_keys ik using unnest(run_ids) i (run_id) where ik.run_id = any (array[i.run_id]);
  delete from pgflow.run_restarts rr using unnest(run_ids) i (run_id) where rr.run_id = any (array[i.run_id]);
  delete from pgflow.runs r using unnest(run_ids) i (run_id) where r.run_id = any (array[i.run_id]);
  delete from pgflow.deps d where d.flow_slug = flow.flow_slug;
  delete from pgflow.steps s where s.flow_slug = flow.flow_slug;

  delete from pgflow.lost_messages l
  where l.lost_id in (
    select x.lost_id from pgflow.lost_messages x where x.queue_name = any (own_queues) for update skip locked);
  delete from pgflow.queues q where q.owner_flow_slug = flow.flow_slug;
  delete from pgflow.flows f where f.flow_slug = flow.flow_slug;
end
$$;
