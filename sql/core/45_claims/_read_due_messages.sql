-- The claim's first statement: takes the rows of up to qty visible messages, the
-- longest visible first. It changes nothing yet; the claim sets read_ct and vt
-- of all of them once it knows their outcomes, in one update instead of two.
-- Own SQL instead of pgmq.read, which cannot use the index on vt: its time
-- argument is volatile, so it walks over every delayed message.
-- lowest: nothing before it is alive (_low_water); the bounds are subqueries, so that
-- the planner does not look up both ends of the index to judge them.
-- Locks: the message rows, by skip locked.
create function pgflow._read_due_messages(queue_name text, qty int, lowest timestamptz)
returns pgflow._message_batch
language plpgsql
set search_path = ''
-- planner: order
set enable_sort = off
set jit = off
as $$
declare
  batch pgflow._message_batch;
begin
  execute format($query$
    select array_agg(d.msg_id), array_agg(d.read_ct), array_agg(d.message), array_agg(true),
           array_agg(d.vt)
    from (
      select m.msg_id, m.vt, m.read_ct + 1 as read_ct, m.message
      from pgmq.%I m
      where m.vt >= (select $3) and m.vt <= (select $1)
      order by m.vt
      limit $2
      for update skip locked
    ) d
    $query$, pgmq.format_table_name(queue_name, 'q'))
  using clock_timestamp(), qty, lowest
  into batch.msg_ids, batch.read_cts, batch.bodies, batch.present, batch.due_ats;
  return batch;
end
$$;
