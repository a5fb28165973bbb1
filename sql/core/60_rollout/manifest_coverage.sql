-- Whether every queue that a manifest's enabled functions serve is well served: one
-- row a queue.
--
-- live_workers       live and working on it, not told to stop, of whatever function
-- oldest_heartbeat   of those: all younger than 15 s; null without one
-- covered            there is one, and every one of them runs every expected pair
-- gaps               why not, as readable lines; a held pair is a missing one
-- A flow of an added function is expected although no run of it exists yet; a flow
-- that does not exist has no queues, and its entry answers as one row without queue.
-- What a later deployment has taken over is that one's to cover.
-- Locks: none. Errors: 42704 unknown deployment.
create function pgflow.manifest_coverage(deployment text)
returns table (queue_name text, live_workers bigint, oldest_heartbeat interval, covered boolean, gaps text[])
language sql
stable
set search_path = ''
as $$
  with entries as (
    select * from pgflow._own_entries(pgflow._find_manifest(manifest_coverage.deployment)) as e where e.enabled
  ),
  expected as materialized (
    select * from pgflow._expected_pairs(manifest_coverage.deployment)
  ),
  queues as (
    select e.queue_name from entries e where e.queue_name is not null
    union
    select x.queue_name from expected x
  ),
  working as materialized (
    select q.queue_name, w.worker_id, w.function_name, w.last_heartbeat_at
    from queues q
    join pgflow.workers w on lower(w.queue_name) = q.queue_name
    where w.stopped_at is null and pgflow._is_live(w) and not w.standby
      and not pgflow._must_stop(w.worker_id, w.function_name)
  ),
  lines as (
    select q.queue_name, format('queue "%s" has no live worker', q.queue_name) as line
    from queues q
    where q.queue_name not in (select w.queue_name from working w)
    union all
    select w.queue_name, format('queue "%s": worker %s of function "%s" does not run %s %s', w.queue_name, w.worker_id,
             w.function_name, case when count(*) > 1 then 'steps' else 'step' end, string_agg(format('"%s" of flow "%s"', x.step_slug, x.flow_slug), ', '
                                         order by x.flow_slug, x.step_slug))
    from working w
    join expected x on x.queue_name = w.queue_name
    where not exists (
      select from pgflow.worker_task_pairs p
      where p.worker_id = w.worker_id and p.flow_slug = x.flow_slug and p.step_slug = x.step_slug and not p.held)
    group by w.queue_name, w.worker_id, w.function_name
  ),
  answers as (
    select q.queue_name, count(w.worker_id) as live_workers,
           max(greatest(clock_timestamp() - w.last_heartbeat_at, interval '0')) as oldest_heartbeat,
           array(select l.line from lines l where l.queue_name = q.queue_name order by 1) as gaps
    from queues q
    left join working w on w.queue_name = q.queue_name
    group by q.queue_name
    union all
    select null, 0, null, array[format(
             case when e.action = 'add' then 'flow "%s" of function "%s" is not compiled yet: no worker of it has started'
               else 'flow "%s" of function "%s" does not exist any more' end,
             e.flow_slug, e.function_name)]
    from entries e
    where e.flow_slug is not null and not exists (select from pgflow.flows f where f.flow_slug = e.flow_slug)
  )
  select a.queue_name, a.live_workers, a.oldest_heartbeat, a.gaps = '{}', a.gaps
  from answers a
  order by a.queue_name, a.gaps
$$;
