-- What waits on a queue, by pair: depth (queued tasks, delayed ones included), the
-- age of the oldest, and tasks in hand. A pair without live task has no row.
-- Locks: none. Reads every live task of the queue.
-- Callers: hosts (metrics), operators.
create function pgflow.queue_stats(queue text)
returns table (flow_slug text, step_slug text, depth bigint, oldest_age interval, started bigint)
language sql
stable
set search_path = ''
as $$
  with queued as (
    select t.flow_slug, t.step_slug, count(*) as depth, min(t.queued_at) as oldest
    from pgflow.step_tasks t
    where t.status = 'queued' and t.queue_name = lower(queue_stats.queue)
    group by t.flow_slug, t.step_slug
  ),
  in_hand as (
    select t.flow_slug, t.step_slug, count(*) as started
    from pgflow.step_tasks t
    where t.status = 'started' and t.queue_name = lower(queue_stats.queue)
    group by t.flow_slug, t.step_slug
  )
  select p.flow_slug, p.step_slug, coalesce(q.depth, 0),
         case when q.oldest is not null then greatest(clock_timestamp() - q.oldest, interval '0') end,
         coalesce(h.started, 0)
  from (
    select q.flow_slug, q.step_slug from queued q
    union
    select h.flow_slug, h.step_slug from in_hand h
  ) as p
  left join queued q using (flow_slug, step_slug)
  left join in_hand h using (flow_slug, step_slug)
  order by p.flow_slug, p.step_slug
$$;
