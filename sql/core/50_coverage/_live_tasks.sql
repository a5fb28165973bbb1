-- Queued and started tasks of a flow, counted by queue and state, on every queue
-- there is: a drain verdict trusts neither runs nor routes. Queued ones are looked
-- up by (queue, flow), started ones in the short list of all that are started; the
-- settings keep these plans whatever the statistics say.
-- Callers: drain_status, _drain_blockers.
create function pgflow._live_tasks(flow_slug text)
returns table (queue_name text, status text, tasks bigint)
language sql
stable
set search_path = ''
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
  select t.queue_name, t.status, count(*)
  from pgflow.queues q
  join pgflow.step_tasks t on t.queue_name = q.queue_name
  where t.flow_slug = _live_tasks.flow_slug and t.status = 'queued'
  group by t.queue_name, t.status
  union all
  select t.queue_name, t.status, count(*)
  from pgflow.step_tasks t
  where t.flow_slug = _live_tasks.flow_slug and t.status = 'started'
  group by t.queue_name, t.status
$$;
