-- One row a pair and reason that a queue (canonical name) must be served for; the
-- reasons are those of queue_coverage.
--
-- Retired versions have no work and cost nothing: routes are immutable, so a step
-- of a flow in service is looked up by (queue, flow), and the pairs of queued tasks
-- by hopping through their index from pair to pair, not task by task.
-- The settings keep these plans whatever the statistics say.
create function pgflow._coverage_needs(queue_name text)
returns table (flow_slug text, step_slug text, reason text)
language sql
stable
set search_path = ''
-- planner: keys
as $$
  with recursive in_service as materialized (
    select f.flow_slug
    from pgflow.flows f
    where f.retired_at is null
  ),
  routed as materialized (
    select s.flow_slug, s.step_slug
    from in_service f
    -- offset 0: from the flows to their steps here, never from all steps of the queue
    cross join lateral (
      select t.flow_slug, t.step_slug
      from pgflow.steps t
      where t.queue_name = _coverage_needs.queue_name and t.flow_slug = f.flow_slug
      offset 0
    ) as s
  ),
  queued as (
    (select t.flow_slug, t.step_slug
     from pgflow.step_tasks t
     where t.status = 'queued' and t.queue_name = _coverage_needs.queue_name
     order by t.flow_slug, t.step_slug
     limit 1)
    union all
    select n.flow_slug, n.step_slug
    from queued q
    cross join lateral (
      select t.flow_slug, t.step_slug
      from pgflow.step_tasks t
      where t.status = 'queued' and t.queue_name = _coverage_needs.queue_name
        and (t.flow_slug, t.step_slug) > (q.flow_slug, q.step_slug)
      order by t.flow_slug, t.step_slug
      limit 1
    ) as n
  )
  select r.flow_slug, r.step_slug, 'active'
  from routed r
  where exists (select from pgflow.flow_aliases a where a.active_flow_slug = r.flow_slug)
  union all
  select r.flow_slug, r.step_slug, 'draining'
  from routed r
  where exists (
    select
    from (
      select x.run_id from pgflow.runs x where x.flow_slug = r.flow_slug and x.status = 'started' offset 0
    ) u
    cross join lateral (
      select from pgflow.step_states x
      where x.run_id = u.run_id and x.step_slug = r.step_slug and x.status in ('created', 'started')
      offset 0
    ) s
    offset 0)
  union all
  select q.flow_slug, q.step_slug, 'executable' from queued q
  union all
  select distinct t.flow_slug, t.step_slug, 'recoverable'
  from (
    select x.flow_slug, x.step_slug from pgflow.step_tasks x
    where x.status = 'started' and x.queue_name = _coverage_needs.queue_name
    offset 0
  ) t
$$;
