-- Length, ages and totals of one queue. Ages are null for an empty queue.
-- Locks: none. Errors: 42P01, no such queue.
create function pgmq.metrics(queue_name text)
returns pgmq.metrics_result
language plpgsql
set search_path = ''
as $$
declare
  qtable text := pgmq.format_table_name(queue_name, 'q');
  result pgmq.metrics_result;
begin
  execute format($query$
    select
      $1 as queue_name,
      count(*) as queue_length,
      extract(epoch from clock_timestamp() - max(m.enqueued_at))::integer as newest_msg_age_sec,
      extract(epoch from clock_timestamp() - min(m.enqueued_at))::integer as oldest_msg_age_sec,
      (select case when s.is_called then s.last_value else 0 end
         from pgmq.%2$I s) as total_messages,
      clock_timestamp() as scrape_time,
      count(*) filter (where m.vt <= $2) as queue_visible_length
    from pgmq.%1$I m
    $query$, qtable, qtable || '_msg_id_seq')
  using queue_name, clock_timestamp()
  into result;
  return result;
end
$$;
