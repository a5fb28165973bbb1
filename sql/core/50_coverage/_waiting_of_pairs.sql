-- What waits for each pair that one of these queues needs, counted in part: of each flow the first
-- 500 started runs, of each pair the first 500 queued tasks, and every started task; the index
-- gives the oldest first, near enough. *_at_least: there are more than were looked at.
-- oldest: when the oldest of those that were counted was started or queued.
create function pgflow._waiting_of_pairs(queue_names text[])
returns table (
  queue_name text, flow_slug text, step_slug text, reasons text[],
  runs bigint, runs_at_least boolean, tasks bigint, tasks_at_least boolean, oldest timestamptz
)
language sql
stable
set search_path = ''
-- planner: keys
as $$
  with needed as materialized (
    select q.name as queue_name, n.flow_slug, n.step_slug,
           array_agg(n.reason order by array_position('{active,draining,executable,recoverable}', n.reason)) as reasons
    from unnest(queue_names) as q (name)
    cross join lateral pgflow._coverage_needs(q.name) as n
    group by q.name, n.flow_slug, n.step_slug
  ),
  looked_at as materialized (
    select f.flow_slug, r.run_id, r.started_at
    from (select distinct n.flow_slug from needed n where 'draining' = any (n.reasons)) f
    cross join lateral (
      select x.run_id, x.started_at from pgflow.runs x
      where x.flow_slug = f.flow_slug and x.status = 'started'
      limit 500
    ) r
  ),
  sizes as materialized (
    select coalesce(jsonb_object_agg(l.flow_slug, l.runs), '{}') as by_flow
    from (select x.flow_slug, count(*) as runs from looked_at x group by x.flow_slug) l
  ),
  -- As a document, so that each pair finds its own without a join of two lists.
  open_steps as materialized (
    select coalesce(jsonb_object_agg(o.key, jsonb_build_array(o.runs, o.oldest)), '{}') as by_pair
    from (
      select l.flow_slug || ' ' || s.step_slug as key, count(*) as runs, min(l.started_at) as oldest
      from looked_at l
      cross join lateral (
        select x.step_slug from pgflow.step_states x
        where x.run_id = l.run_id and x.status in ('created', 'started')
        offset 0
      ) s
      group by l.flow_slug, s.step_slug
    ) o
  ),
  started as materialized (
    select coalesce(jsonb_object_agg(t.key, jsonb_build_array(t.tasks, t.oldest)), '{}') as by_pair
    from (
      select x.queue_name || ' ' || x.flow_slug || ' ' || x.step_slug as key,
             count(*) as tasks, min(x.queued_at) as oldest
      from (
        select s.queue_name, s.flow_slug, s.step_slug, s.queued_at from pgflow.step_tasks s
        where s.status = 'started'
        offset 0
      ) x
      group by x.queue_name, x.flow_slug, x.step_slug
    ) t
  ),
  counted as (
    select n.*, coalesce((z.by_flow ->> n.flow_slug)::bigint, 0) as runs_seen,
           o.by_pair -> (n.flow_slug || ' ' || n.step_slug) as open_runs,
           s.by_pair -> (n.queue_name || ' ' || n.flow_slug || ' ' || n.step_slug) as started_tasks,
           q.tasks as queued_tasks, q.oldest as oldest_queued
    from needed n
    cross join sizes z
    cross join open_steps o
    cross join started s
    cross join lateral (
      select count(*) as tasks, min(t.queued_at) as oldest
      from (
        select x.queued_at from pgflow.step_tasks x
        where x.status = 'queued' and x.queue_name = n.queue_name
          and x.flow_slug = n.flow_slug and x.step_slug = n.step_slug
        limit 500
      ) t
    ) q
  )
  select c.queue_name, c.flow_slug, c.step_slug, c.reasons,
         case when 'draining' = any (c.reasons) then greatest(coalesce((c.open_runs ->> 0)::bigint, 0), 1) else 0 end,
         'draining' = any (c.reasons) and c.runs_seen >= 500,
         c.queued_tasks + coalesce((c.started_tasks ->> 0)::bigint, 0),
         c.queued_tasks >= 500,
         least((c.open_runs ->> 1)::timestamptz, c.oldest_queued, (c.started_tasks ->> 1)::timestamptz)
  from counted c
$$;
