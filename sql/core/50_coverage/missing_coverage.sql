-- The pairs that queue_coverage asks for and supported lacks; no rows: covered.
-- counts[i] is what stands behind reasons[i]: 1 for active, the started runs that
-- may still reach the step for draining, tasks for executable and recoverable.
-- Locks: none. Counting reads what it counts, of missing pairs only.
create function pgflow.missing_coverage(queue_name text, supported pgflow.task_pair[])
returns table (flow_slug text, step_slug text, reasons text[], counts bigint[])
language sql
stable
set search_path = ''
-- planner: keys
as $$
  with missing as (
    select n.flow_slug, n.step_slug, n.reason
    from pgflow._coverage_needs(lower(missing_coverage.queue_name)) as n
    where not exists (
      select from unnest(missing_coverage.supported) as p
      where p.flow_slug = n.flow_slug and p.step_slug = n.step_slug)
  ),
  counted as (
    select m.*, array_position('{active,draining,executable,recoverable}', m.reason) as position,
           case m.reason
             when 'draining' then (
               select count(*)
               from (
                 select x.run_id from pgflow.runs x where x.flow_slug = m.flow_slug and x.status = 'started' offset 0
               ) u
               cross join lateral (
                 select from pgflow.step_states x
                 where x.run_id = u.run_id and x.step_slug = m.step_slug and x.status in ('created', 'started')
                 offset 0
               ) s)
             when 'executable' then (
               select count(*)
               from pgflow.step_tasks t
               where t.status = 'queued' and t.queue_name = lower(missing_coverage.queue_name)
                 and t.flow_slug = m.flow_slug and t.step_slug = m.step_slug)
             when 'recoverable' then (
               select count(*)
               from pgflow.step_tasks t
               where t.status = 'started' and t.queue_name = lower(missing_coverage.queue_name)
                 and t.flow_slug = m.flow_slug and t.step_slug = m.step_slug)
             else 1
           end as behind
    from missing m
  )
  select c.flow_slug, c.step_slug, array_agg(c.reason order by c.position), array_agg(c.behind order by c.position)
  from counted c
  group by c.flow_slug, c.step_slug
  order by c.flow_slug, c.step_slug
$$;
