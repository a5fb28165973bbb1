-- Makes a message visible vt seconds from now (0: at once). One row, or none
-- when there is no such message. Locks: that row. Errors: 42P01, no such queue.
create function pgmq.set_vt(queue_name text, msg_id bigint, vt integer)
returns setof pgmq.message_record
language plpgsql
set search_path = ''
as $$
begin
  return query execute format($query$
    update pgmq.%I m
    set vt = clock_timestamp() + $2
    where m.msg_id = $1
    returning m.msg_id, m.read_ct, m.enqueued_at, m.vt, m.message, m.headers
    $query$, pgmq.format_table_name(queue_name, 'q'))
  using msg_id, make_interval(secs => vt);
end
$$;
