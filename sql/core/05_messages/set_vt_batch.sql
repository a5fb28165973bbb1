-- Sets the visibility of several messages of one queue: message msg_ids[i]
-- becomes visible vt_offsets[i] seconds from now. Returns the messages that
-- exist, as pgmq.read does; none for a null argument. Locks: those rows, ascending.
-- Errors: 42P01, no such queue; 22023, arrays of different length.
create function pgflow.set_vt_batch(queue_name text, msg_ids bigint[], vt_offsets int[])
returns table (
  msg_id bigint, read_ct int, enqueued_at timestamptz, vt timestamptz, message jsonb, headers jsonb)
language plpgsql
set search_path = ''
set enable_seqscan = off
as $$
begin
  if queue_name is null or msg_ids is null or vt_offsets is null then
    return;
  elsif coalesce(cardinality(msg_ids), 0) <> coalesce(cardinality(vt_offsets), 0) then
    raise exception 'set_vt_batch: % msg_ids and % vt_offsets',
        coalesce(cardinality(msg_ids), 0), coalesce(cardinality(vt_offsets), 0)
      using errcode = 'invalid_parameter_value',
            hint = 'Give one offset, in seconds, for each message.';
  end if;

  return query execute format($query$
    with wanted as (
      select w.msg_id, max(w.vt_offset) as vt_offset
      from unnest($1, $2) as w(msg_id, vt_offset)
      where w.msg_id is not null and w.vt_offset is not null
      group by w.msg_id
    ), locked as (
      select m.msg_id
      from pgmq.%1$I m
      where m.msg_id = any ($1)
      order by m.msg_id
      for update
    )
    update pgmq.%1$I m
    set vt = clock_timestamp() + make_interval(secs => x.vt_offset)
    from (
      select l.msg_id, w.vt_offset from locked l join wanted w on w.msg_id = l.msg_id offset 0
    ) x
    where m.msg_id = any (array[x.msg_id])
    returning m.msg_id, m.read_ct, m.enqueued_at, m.vt, m.message, m.headers
    $query$, pgmq.format_table_name(queue_name, 'q'))
  using msg_ids, vt_offsets;
end
$$;
