-- Removes messages from the queue without a trace. One id: true when it was
-- there. Many: the ids that were there. Locks: the rows. Errors: 42P01.
create function pgmq.delete(queue_name text, msg_ids bigint[])
returns setof bigint
language plpgsql
set search_path = ''
as $$
begin
  return query execute format(
    'delete from pgmq.%I m where m.msg_id = any ($1) returning m.msg_id',
    pgmq.format_table_name(queue_name, 'q'))
  using msg_ids;
end
$$;

create function pgmq.delete(queue_name text, msg_id bigint)
returns boolean
language sql
set search_path = ''
as $$ select exists (select from pgmq.delete(queue_name, array[msg_id])) $$;
