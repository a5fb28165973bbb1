-- Every queue, in the spelling given at creation. Locks: none.
create function pgmq.list_queues()
returns setof pgmq.queue_record
language sql
stable
set search_path = ''
as $$
  select m.queue_name, m.is_partitioned, m.is_unlogged, m.created_at
  from pgmq.meta m
  order by m.queue_name
$$;
