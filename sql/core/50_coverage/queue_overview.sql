-- Every queue with what waits on it and who serves it, for who looks at the database as a whole: a queue that has lost
-- all of its hosts has a row here, and none of them that could tell.
--
--   ready, delayed, started   tasks, as in queue_stats; oldest_age: for how long the oldest ready one has waited
--   is_needed                 an active version, or a started run, has a step here
--   working, standby          live workers that claim, and that stand by
--   silent                    workers that ended without saying so, or are frozen or cut off: no heartbeat for 15 s,
--                             neither stopped nor deprecated. Their rows go after an hour
--
-- Locks: none. Reads every live task.
create function pgflow.queue_overview()
returns table (queue_name text, kind text, is_needed boolean, ready bigint, delayed bigint, oldest_age interval,
               started bigint, working bigint, standby bigint, silent bigint)
language sql
stable
set search_path = ''
-- planner: keys
as $$
  with worker as (
    select lower(w.queue_name) as queue_name,
           count(*) filter (where l.is_live and not w.standby) as working,
           count(*) filter (where l.is_live and w.standby) as standby,
           count(*) filter (where not l.is_live) as silent
    from pgflow.workers w
    cross join lateral (select pgflow._is_live(w) as is_live) as l
    where w.stopped_at is null and w.deprecated_at is null
    group by lower(w.queue_name)
  ),
  needed as (
    select distinct s.queue_name
    from pgflow.steps s
    where exists (select from pgflow.flow_aliases a where a.active_flow_slug = s.flow_slug)
       or exists (select from pgflow.runs r where r.flow_slug = s.flow_slug and r.status = 'started')
  )
  select q.queue_name, q.kind, n.queue_name is not null, t.ready, t.delayed,
         case when t.ready_since is not null then greatest(clock_timestamp() - t.ready_since, interval '0') end, t.started,
         coalesce(w.working, 0), coalesce(w.standby, 0), coalesce(w.silent, 0)
  from pgflow.queues q
  cross join lateral (
    select coalesce(sum(w.ready), 0)::bigint as ready, coalesce(sum(w.delayed), 0)::bigint as delayed,
           min(w.ready_since) as ready_since, coalesce(sum(w.started), 0)::bigint as started
    from pgflow.queue_tasks(q.queue_name) as w) as t
  left join worker w on w.queue_name = q.queue_name
  left join needed n on n.queue_name = q.queue_name
  order by q.queue_name
$$;
