-- Reads up to qty visible messages, oldest first, and hides them for vt seconds.
-- conditional: only messages that contain it ('{}': all).
-- Locks: the rows read, by skip locked; an empty queue, or one where all is
-- delayed, is answered from the index on vt without a lock.
-- Errors: 42P01, no such queue.
create function pgmq.read(queue_name text, vt integer, qty integer, conditional jsonb default '{}')
returns setof pgmq.message_record
language plpgsql
set search_path = ''
as $$
declare
  qtable text := pgmq.format_table_name(queue_name, 'q');
  -- A value, not a call: a volatile call cannot be looked up in the index.
  moment timestamptz := clock_timestamp();
  first_due timestamptz;
begin
  execute format('select m.vt from pgmq.%I m order by m.vt limit 1', qtable) into first_due;
  if first_due is null or first_due > moment then
    return;
  end if;

  return query execute format($query$
    with due as (
      select m.msg_id
      from pgmq.%1$I m
      where m.vt <= $2 and ($3 = '{}'::jsonb or m.message @> $3)
      order by m.msg_id
      limit $1
      for update skip locked
    ), taken as (
      update pgmq.%1$I m
      set vt = clock_timestamp() + $4, read_ct = m.read_ct + 1
      from due
      where m.msg_id = due.msg_id
      returning m.msg_id, m.read_ct, m.enqueued_at, m.vt, m.message, m.headers
    )
    select t.msg_id, t.read_ct, t.enqueued_at, t.vt, t.message, t.headers
    from taken t
    order by t.msg_id
    $query$, qtable)
  using qty, moment, conditional, make_interval(secs => vt);
end
$$;
