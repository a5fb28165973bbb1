-- Queued and started tasks of a flow, counted by queue and state, on every queue
-- there is: a drain verdict trusts neither runs nor routes. Queued ones are looked
-- up by (queue, flow), started ones in the short list of all that are started; the
-- settings keep these plans whatever the statistics say.
create function pgflow._live_tasks(flow_slug text)
returns table (queue_name text, status text, tasks bigint)
language sql
stable
set search_path = ''
-- planner: keys
as $$
  select t.queue_name, t.status, count(*)
  from pgflow.queues q
  cross join lateral (
    select x.queue_name, x.status from pgflow.step_tasks x
    where x.queue_name = q.queue_name and x.flow_slug = _live_tasks.flow_slug and x.status = 'queued'
    offset 0
  ) t
  group by t.queue_name, t.status
  union all
  select t.queue_name, t.status, count(*)
  from (
    select x.queue_name, x.status from pgflow.step_tasks x
    where x.flow_slug = _live_tasks.flow_slug and x.status = 'started'
    offset 0
  ) t
  group by t.queue_name, t.status
$$;
