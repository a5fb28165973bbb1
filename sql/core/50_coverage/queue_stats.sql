-- What waits on a queue, by pair: depth (queued tasks, delayed ones included), for how long the oldest of those that
-- could be claimed has waited (null: none could), and tasks in hand. A pair without live task has no row.
-- Locks: none. Reads every live task of the queue.
create function pgflow.queue_stats(queue text)
returns table (flow_slug text, step_slug text, depth bigint, oldest_age interval, started bigint)
language sql
stable
set search_path = ''
-- planner: keys
as $$
  select w.flow_slug, w.step_slug, w.ready + w.delayed,
         case when w.ready_since is not null then greatest(clock_timestamp() - w.ready_since, interval '0') end, w.started
  from pgflow.queue_tasks(queue_stats.queue) as w
  order by w.flow_slug, w.step_slug
$$;
