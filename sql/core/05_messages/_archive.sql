-- Archives messages by (queue, id), one statement a queue, ids ascending.
-- Parallel arrays; null ids, messages that are gone and queues that are gone are
-- passed over: all that matters is that none of them is on a queue afterwards.
-- Locks: the message rows, in ascending order within a queue, queues by name;
-- the settings below keep every plan on the primary key, which gives that order
-- and does not depend on statistics of a table that was empty a moment ago.
-- It says by a setting that what it takes is not lost (_note_lost_messages).
create function pgflow._archive(queue_names text[], message_ids bigint[])
returns void
language plpgsql
set search_path = ''
-- planner: order
as $$
declare
  batch record;
begin
  perform set_config('pgflow.takes_messages', 'on', true);
  for batch in
    select m.queue_name, array_agg(m.message_id order by m.message_id) as ids
    from unnest(queue_names, message_ids) as m(queue_name, message_id)
    where m.message_id is not null and m.queue_name is not null
    group by m.queue_name
    order by m.queue_name
  loop
    if to_regclass(format('pgmq.%I', pgmq.format_table_name(batch.queue_name, 'q'))) is not null then
      perform pgmq.archive(batch.queue_name, batch.ids);
    end if;
  end loop;
  perform set_config('pgflow.takes_messages', 'off', true);
end
$$;
