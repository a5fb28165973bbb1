-- Whether a queue has the triggers of _watch_queue. A queue that was dropped and made anew has none.
-- Locks: none.
create function pgflow._is_watched(queue_name text)
returns boolean
language sql
stable
set search_path = ''
as $$
  select count(*) = 2
  from pg_catalog.pg_class c
  join pg_catalog.pg_trigger t on t.tgrelid = c.oid and t.tgname in ('pgflow_taken', 'pgflow_purged')
  where c.relnamespace = 'pgmq'::regnamespace and c.relname = pgmq.format_table_name($1, 'q')
$$;
