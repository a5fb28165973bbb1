-- Deletes a flow with its runs, tasks and messages, and drops the queues that it
-- owns. Shared queues lose only this flow's active messages. The alias row is the
-- caller's affair (its foreign key is deferred).
-- Locks, in lock order: the flow row for update (starts wait, then find nothing),
-- its runs, its tasks, the tables of its own queues by name, then messages of the
-- others; the caller holds alias and slug.
create function pgflow._delete_flow(flow pgflow.flows)
returns void
language plpgsql
set search_path = ''
as $$
declare
  own_queues text[];
begin
  perform from pgflow.flows f where f.flow_slug = flow.flow_slug for update;
  perform from pgflow.runs r where r.flow_slug = flow.flow_slug order by r.run_id for update;
  -- Claims lock tasks alone; deleting under their feet would leave them a message.
  perform from pgflow.step_tasks t
  where t.run_id in (select r.run_id from pgflow.runs r where r.flow_slug = flow.flow_slug)
  order by t.run_id, t.step_slug, t.task_index
  for update;

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
  from pgflow.step_tasks t
  where t.flow_slug = flow.flow_slug
    and t.status in ('queued', 'started')
    and t.queue_name <> all (coalesce(own_queues, '{}'));

  delete from pgflow.step_tasks t
  using pgflow.runs r
  where t.run_id = r.run_id and r.flow_slug = flow.flow_slug;
  delete from pgflow.step_states s
  using pgflow.runs r
  where s.run_id = r.run_id and r.flow_slug = flow.flow_slug;
  delete from pgflow.run_restarts rr
  using pgflow.runs r
  where rr.run_id = r.run_id and r.flow_slug = flow.flow_slug;
  delete from pgflow.runs r where r.flow_slug = flow.flow_slug;
  delete from pgflow.deps d where d.flow_slug = flow.flow_slug;
  delete from pgflow.steps s where s.flow_slug = flow.flow_slug;

  delete from pgflow.lost_messages l
  where l.lost_id in (
    select x.lost_id from pgflow.lost_messages x where x.queue_name = any (own_queues) for update skip locked);
  delete from pgflow.queues q where q.owner_flow_slug = flow.flow_slug;
  delete from pgflow.flows f where f.flow_slug = flow.flow_slug;
end
$$;
