-- Why a flow may not be retired yet, as readable lines; none when it is drained: no
-- started run (also one whose next step has no task yet), no queued or started task
-- on any queue, and no alias but its own points at it.
create function pgflow._drain_blockers(flow_slug text)
returns text[]
language sql
stable
set search_path = ''
-- planner: keys
as $$
  with lines (position, line) as (
    select 1, pgflow._counted(count(*), 'started run')
    from pgflow.runs r
    where r.flow_slug = _drain_blockers.flow_slug and r.status = 'started'
    having count(*) > 0
    union all
    select 2, format('%s on queue "%s"', pgflow._counted(l.tasks, l.status || ' task'), l.queue_name)
    from pgflow._live_tasks(flow_slug) as l
    union all
    select 3, format('alias "%s" points at it', a.alias)
    from pgflow.flow_aliases a
    where a.active_flow_slug = _drain_blockers.flow_slug and a.alias <> _drain_blockers.flow_slug
  )
  select coalesce(array_agg(l.line order by l.position, l.line), '{}') from lines l
$$;
