-- The queues where started runs of a flow may still send a task or have one, sorted.
-- Callers: drain_status.
create function pgflow._reachable_queues(flow_slug text)
returns text[]
language sql
stable
set search_path = ''
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
  select coalesce(array_agg(q.queue_name order by q.queue_name), '{}')
  from (
    select distinct s.queue_name
    from pgflow.steps s
    where s.flow_slug = _reachable_queues.flow_slug
      and exists (
        select
        from pgflow.runs r
        join pgflow.step_states t on t.run_id = r.run_id and t.step_slug = s.step_slug
        where r.flow_slug = s.flow_slug and r.status = 'started' and t.status in ('created', 'started'))
    union
    select t.queue_name from pgflow._live_tasks(_reachable_queues.flow_slug) as t
  ) as q
$$;
