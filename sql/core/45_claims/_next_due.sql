-- How a queue stands at this moment: has_visible, and the next visibility time
-- still to come (null: none). Two probes of the index on vt, so a million
-- delayed messages cost nothing. Takes no lock and no transaction id.
-- Callers: the claims. Errors: 42P01, no such queue.
create function pgflow._next_due(queue_name text, out has_visible boolean, out due_in_ms bigint)
language plpgsql
set search_path = ''
set enable_seqscan = off
set enable_sort = off
set jit = off
as $$
declare
  moment timestamptz := clock_timestamp();
begin
  execute format($query$
    select coalesce(first.vt <= $1, false),
           (select greatest(ceil(extract(epoch from m.vt - $1) * 1000), 1)::bigint
            from pgmq.%1$I m where m.vt > $1 order by m.vt limit 1)
    from (select (select m.vt from pgmq.%1$I m order by m.vt limit 1) as vt) first
    $query$, pgmq.format_table_name(queue_name, 'q'))
  using moment
  into has_visible, due_in_ms;
exception when undefined_table then
  raise exception 'queue "%" does not exist', queue_name
    using errcode = 'undefined_table',
          hint = 'It was dropped, or never made: see pgflow.queues and pgmq.list_queues().';
end
$$;
