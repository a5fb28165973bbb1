-- One row a pair and reason that a queue (canonical name) must be served for; the
-- reasons are those of queue_coverage.
--
-- Retired versions have no work and cost nothing: routes are immutable, so a step
-- of a flow in service is looked up by (queue, flow), and the pairs of queued tasks
-- by hopping through their index from pair to pair, not task by task.
--
-- draining asks for a started run whose step is not over. Some runs of each flow answer
-- it in most cases (near). Where they have all passed the step, the tasks do: a step of
-- a started run is open only where a task of it, or of a step before it, is queued or
-- started, so that no run is read for a step without such a task (far).
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
  ),
  near as materialized (
    select r.flow_slug, r.step_slug, exists (
        select
        from (
          select x.run_id from pgflow.runs x where x.flow_slug = r.flow_slug and x.status = 'started' limit 16
        ) u
        cross join lateral (
          select from pgflow.step_states x
          where x.run_id = u.run_id and x.step_slug = r.step_slug and x.status in ('created', 'started')
          offset 0
        ) s
        offset 0) as is_open
    from routed r
  ),
  unresolved as materialized (
    select n.flow_slug, n.step_slug
    from near n
    where not n.is_open and exists (
      select from pgflow.runs x where x.flow_slug = n.flow_slug and x.status = 'started' offset 0)
  ),
  started as materialized (
    select x.flow_slug, x.step_slug, x.run_id, x.queue_name
    from pgflow.step_tasks x
    where x.status = 'started'
    offset 0
  ),
  live as materialized (
    select s.flow_slug, s.step_slug, s.queue_name
    from (select distinct u.flow_slug from unresolved u) f
    cross join lateral (
      select t.flow_slug, t.step_slug, t.queue_name from pgflow.steps t where t.flow_slug = f.flow_slug offset 0
    ) s
    where exists (
      select from pgflow.step_tasks t
      where t.status = 'queued' and t.queue_name = s.queue_name
        and t.flow_slug = s.flow_slug and t.step_slug = s.step_slug
      offset 0)
    union
    select t.flow_slug, t.step_slug, t.queue_name
    from started t
    where (t.flow_slug in (select u.flow_slug from unresolved u)) is true
  ),
  -- below: step_slug is live_step, or waits for it.
  below as (
    select l.flow_slug, l.queue_name, l.step_slug as live_step, l.step_slug
    from live l
    union
    select b.flow_slug, b.queue_name, b.live_step, d.step_slug
    from below b
    cross join lateral (
      select x.step_slug from pgflow.deps x where x.flow_slug = b.flow_slug and x.dep_slug = b.step_slug offset 0
    ) d
  ),
  far as (
    select distinct b.flow_slug, b.step_slug
    from below b
    where ((b.flow_slug, b.step_slug) in (select u.flow_slug, u.step_slug from unresolved u)) is true
      and (
        exists (
          select
          from (
            select t.run_id from pgflow.step_tasks t
            where t.status = 'queued' and t.queue_name = b.queue_name
              and t.flow_slug = b.flow_slug and t.step_slug = b.live_step
            offset 0
          ) t
          cross join lateral (
            select x.status from pgflow.runs x where x.run_id = t.run_id offset 0
          ) r
          cross join lateral (
            select from pgflow.step_states x
            where x.run_id = t.run_id and x.step_slug = b.step_slug and x.status in ('created', 'started')
            offset 0
          ) s
          where r.status = 'started'
          offset 0)
        or exists (
          select
          from started t
          cross join lateral (
            select x.status from pgflow.runs x where x.run_id = t.run_id offset 0
          ) r
          cross join lateral (
            select from pgflow.step_states x
            where x.run_id = t.run_id and x.step_slug = b.step_slug and x.status in ('created', 'started')
            offset 0
          ) s
          where t.flow_slug = b.flow_slug and t.step_slug = b.live_step and r.status = 'started'
          offset 0))
  )
  select r.flow_slug, r.step_slug, 'active'
  from routed r
  where exists (select from pgflow.flow_aliases a where a.active_flow_slug = r.flow_slug)
  union all
  select n.flow_slug, n.step_slug, 'draining' from near n where n.is_open
  union all
  select f.flow_slug, f.step_slug, 'draining' from far f
  union all
  select q.flow_slug, q.step_slug, 'executable' from queued q
  union all
  select distinct t.flow_slug, t.step_slug, 'recoverable'
  from started t
  where t.queue_name = _coverage_needs.queue_name
$$;
