-- As read; while nothing is visible it looks again every poll_interval_ms for at
-- most max_poll_seconds. Holds its connection, and its transaction, that long.
create function pgmq.read_with_poll(
  queue_name text, vt integer, qty integer, max_poll_seconds integer default 5,
  poll_interval_ms integer default 100, conditional jsonb default '{}')
returns setof pgmq.message_record
language plpgsql
set search_path = ''
as $$
declare
  stop_at timestamptz := clock_timestamp() + make_interval(secs => max_poll_seconds);
begin
  loop
    return query
      select r.msg_id, r.read_ct, r.enqueued_at, r.vt, r.message, r.headers
      from pgmq.read(queue_name, vt, qty, conditional) r;
    if found or clock_timestamp() >= stop_at then
      return;
    end if;
    perform pg_sleep(greatest(poll_interval_ms, 1) / 1000.0);
  end loop;
end
$$;
