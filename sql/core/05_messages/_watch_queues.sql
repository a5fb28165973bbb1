-- _watch_queue for several queues, all that are known for null, by name.
-- Locks: as _watch_queue; a caller waits for nothing afterwards.
create function pgflow._watch_queues(queue_names text[] default null)
returns void
language sql
set search_path = ''
as $$
  select count(pgflow._watch_queue(q.queue_name))
  from (
    select x.queue_name
    from pgflow.queues x
    where (queue_names is null or x.queue_name = any (queue_names))
      and not pgflow._is_watched(x.queue_name)
    order by x.queue_name
  ) q
$$;
