-- Deletes messages by (queue, id), archived and live, whichever is there.
-- Parallel arrays; queues that are gone are passed over.
-- It says by a setting that what it takes is not lost (_note_lost_messages).
-- Locks: the message rows.
create function pgflow._delete_messages(queue_names text[], message_ids bigint[])
returns void
language plpgsql
set search_path = ''
-- planner: order
set jit = off
as $$
declare
  batch record;
begin
  perform set_config('pgflow.takes_messages', 'on', true);
  for batch in
    select m.queue_name, array_agg(m.message_id order by m.message_id) as ids
    from unnest(queue_names, message_ids) as m(queue_name, message_id)
    where m.message_id is not null
    group by m.queue_name
    order by m.queue_name
  loop
    continue when to_regclass(format('pgmq.%I', pgmq.format_table_name(batch.queue_name, 'q'))) is null;
    perform pgmq.delete(batch.queue_name, batch.ids);
    execute format('delete from pgmq.%I a where a.msg_id = any ($1)',
                   pgmq.format_table_name(batch.queue_name, 'a'))
    using batch.ids;
  end loop;
  perform set_config('pgflow.takes_messages', 'off', true);
end
$$;
