-- The queues where started runs of a flow may still send a task or have one, sorted.
create function pgflow._reachable_queues(flow_slug text)
returns text[]
language sql
stable
set search_path = ''
-- planner: keys
as $$
  select coalesce(array_agg(q.queue_name order by q.queue_name), '{}')
  from (
    select distinct s.queue_name
    from pgflow.steps s
    where s.flow_slug = _reachable_queues.flow_slug
      and exists (
        select
        from (
          select x.run_id from pgflow.runs x where x.flow_slug = s.flow_slug and x.status = 'started' offset 0
        ) r
        cross join lateral (
          select from pgflow.step_states x
          where x.run_id = r.run_id and x.step_slug = s.step_slug and x.status in ('created', 'started')
          offset 0
        ) t
        offset 0)
    union
    select t.queue_name from pgflow._live_tasks(_reachable_queues.flow_slug) as t
  ) as q
$$;
