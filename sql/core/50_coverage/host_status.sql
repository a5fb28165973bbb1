-- What the status page of a host shows, as one document: the queue by pair, the versions
-- given with their steps, live counts and drain, the workers of the queue, and the latest
-- failures with the text that their handlers gave. No input, no output.
--
-- Bounded: failures are looked for in the 1000 runs started last, at most 20 are given;
-- at most 100 workers. Counting reads every live task of the versions given.
-- Locks: none.
create function pgflow.host_status(queue text, flow_slugs text[])
returns jsonb
language sql
stable
set search_path = ''
-- planner: keys
as $$
  with started as (
    select t.flow_slug, t.step_slug, count(*) as tasks
    from pgflow.step_tasks t
    where t.status = 'started' and t.flow_slug = any (host_status.flow_slugs)
    group by t.flow_slug, t.step_slug
  ),
  step as (
    select s.flow_slug, jsonb_agg(jsonb_build_object(
      'step', s.step_slug, 'type', s.step_type, 'queue', s.queue_name,
      'here', s.queue_name = lower(host_status.queue),
      'after', coalesce((
        select jsonb_agg(d.dep_slug order by d.dep_slug)
        from pgflow.deps d
        where d.flow_slug = s.flow_slug and d.step_slug = s.step_slug), '[]'),
      'queued', (
        select count(*) from pgflow.step_tasks t
        where t.status = 'queued' and t.queue_name = s.queue_name
          and t.flow_slug = s.flow_slug and t.step_slug = s.step_slug),
      'started', coalesce(n.tasks, 0)) order by s.step_index) as steps
    from pgflow.steps s
    left join started n using (flow_slug, step_slug)
    where s.flow_slug = any (host_status.flow_slugs)
    group by s.flow_slug
  ),
  latest as materialized (
    select r.run_id, r.flow_slug from pgflow.runs r order by r.started_at desc limit 1000
  ),
  failure as (
    select ss.flow_slug, ss.step_slug, ss.run_id, ss.status,
           coalesce(ss.failed_at, ss.skipped_at) as at,
           case when length(ss.error_message) > 500 then left(ss.error_message, 497) || '...' else ss.error_message end as error
    from latest l
    cross join lateral (
      select x.* from pgflow.step_states x
      where x.run_id = l.run_id and x.error_message is not null
      offset 0
    ) ss
    where l.flow_slug = any (host_status.flow_slugs)
    order by at desc
    limit 20
  ),
  worker as (
    select w.*, pgflow._is_live(w) as is_live, pgflow._pin_fence(w) as fence
    from pgflow.workers w
    where lower(w.queue_name) = lower(host_status.queue) and w.stopped_at is null
    order by w.last_heartbeat_at desc
    limit 100
  )
  select jsonb_build_object(
    'queue', coalesce((
      select jsonb_agg(jsonb_build_object(
        'flow', q.flow_slug, 'step', q.step_slug, 'queued', q.depth, 'started', q.started,
        'oldestSeconds', extract(epoch from q.oldest_age)::bigint) order by q.flow_slug, q.step_slug)
      from pgflow.queue_stats(host_status.queue) as q), '[]'),
    'flows', coalesce((
      select jsonb_agg(jsonb_build_object(
        'flow', f.flow_slug, 'alias', f.alias, 'active', d.is_active, 'startedRuns', d.started_runs,
        'retired', f.retired_at is not null, 'steps', coalesce(s.steps, '[]')) order by f.alias, f.created_at)
      from pgflow.draining_runs(host_status.flow_slugs) as d
      join pgflow.flows f using (flow_slug)
      left join step s using (flow_slug)), '[]'),
    'workers', coalesce((
      select jsonb_agg(jsonb_build_object(
        'worker', w.worker_id, 'function', w.function_name, 'host', w.info ->> 'host', 'pid', w.info ->> 'pid',
        'version', w.info ->> 'version', 'standby', w.standby, 'deprecated', w.deprecated_at is not null,
        'live', w.is_live, 'fence', w.fence, 'heartbeatSeconds',
        greatest(extract(epoch from clock_timestamp() - w.last_heartbeat_at)::bigint, 0)) order by w.started_at)
      from worker w), '[]'),
    'failures', coalesce((
      select jsonb_agg(jsonb_build_object(
        'flow', x.flow_slug, 'step', x.step_slug, 'run', x.run_id, 'status', x.status, 'at', x.at,
        'error', x.error) order by x.at desc)
      from failure x), '[]'))
$$;
