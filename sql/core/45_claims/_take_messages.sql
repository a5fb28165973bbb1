-- The first statement of a claim whose caller has read the messages before:
-- takes the rows of the messages given. One that another session has locked
-- comes with present = false, one that is gone with null.
-- Locks: the message rows, by skip locked.
create function pgflow._take_messages(queue_name text, message_ids bigint[])
returns pgflow._message_batch
language plpgsql
set search_path = ''
set enable_seqscan = off
set jit = off
as $$
declare
  batch pgflow._message_batch;
begin
  execute format($query$
    with wanted as (
      select w.msg_id, min(w.place) as place
      from unnest($1) with ordinality as w(msg_id, place)
      where w.msg_id is not null
      group by w.msg_id
    ), held as (
      select m.msg_id, m.read_ct, m.message
      from pgmq.%1$I m
      where m.msg_id = any ($1)
      for update skip locked
    )
    select array_agg(w.msg_id order by w.place), array_agg(h.read_ct order by w.place),
           array_agg(h.message order by w.place),
           array_agg(case when h.msg_id is not null then true
                          when exists (select from pgmq.%1$I m where m.msg_id = w.msg_id offset 0) then false
                     end order by w.place)
    from wanted w left join held h on h.msg_id = w.msg_id
    $query$, pgmq.format_table_name(queue_name, 'q'))
  using message_ids
  into batch.msg_ids, batch.read_cts, batch.bodies, batch.present;
  return batch;
end
$$;
