-- When the next message of a queue is visible; null: it has none. In the past:
-- there is work. One probe of the index on vt, so a million delayed messages cost
-- nothing. after: only messages due then or later.
-- Takes no lock and no transaction id.
-- Errors: 42P01, no such queue.
create function pgflow._next_due(queue_name text, after timestamptz default '-infinity')
returns timestamptz
language plpgsql
set search_path = ''
-- planner: order
set enable_sort = off
set jit = off
as $$
declare
  due timestamptz;
begin
  -- A bound as a subquery: known, it costs its estimate, which looks at both ends of the index.
  execute format('select m.vt from pgmq.%I m %s order by m.vt limit 1',
                 pgmq.format_table_name(queue_name, 'q'),
                 case when after > '-infinity' then 'where m.vt >= (select $1)' end)
  using after
  into due;
  return due;
exception when undefined_table then
  raise exception 'queue "%" does not exist', queue_name
    using errcode = 'undefined_table',
          hint = 'It was dropped, or never made: see pgflow.queues and pgmq.list_queues().';
end
$$;
