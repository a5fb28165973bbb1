-- Moves messages from the queue to its archive. One id: true when it was there.
-- Many: the ids that were there. Locks: the rows moved. Errors: 42P01, no such queue.
create function pgmq.archive(queue_name text, msg_ids bigint[])
returns setof bigint
language plpgsql
set search_path = ''
as $$
begin
  return query execute format($query$
    with moved as (
      delete from pgmq.%I m
      where m.msg_id = any ($1)
      returning m.msg_id, m.read_ct, m.enqueued_at, m.vt, m.message, m.headers
    )
    insert into pgmq.%I (msg_id, read_ct, enqueued_at, vt, message, headers)
    select m.msg_id, m.read_ct, m.enqueued_at, m.vt, m.message, m.headers
    from moved m
    returning msg_id
    $query$, pgmq.format_table_name(queue_name, 'q'), pgmq.format_table_name(queue_name, 'a'))
  using msg_ids;
end
$$;

create function pgmq.archive(queue_name text, msg_id bigint)
returns boolean
language sql
set search_path = ''
as $$ select exists (select from pgmq.archive(queue_name, array[msg_id])) $$;
