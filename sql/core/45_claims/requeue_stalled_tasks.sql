-- Recovery: tasks whose deadline (recover_at) has passed while run and step are
-- started. The exhausted ones first, they fail with [STALLED]; then the others go
-- back to the queue, at most three times each, at most 1,000 tasks a round, each
-- queue in a subtransaction: one that raises is reported as a warning and stops
-- nobody else, and so does one whose message is not to be had within 2 s. It never
-- looks at what the caller can run. Tasks whose run or step has ended are ended, too.
-- Returns the number of tasks requeued.
-- Locks: runs and
-- tasks by skip locked, then messages.
create function pgflow.requeue_stalled_tasks()
returns int
language plpgsql
security definer
set search_path = ''
set lock_timeout = '2s'
-- planner: keys
as $$
declare
  round_limit constant int := 1000;
  moment constant timestamptz := clock_timestamp();
  mark constant text := pgflow._low_water_name('stalled');
  seen constant pg_snapshot := pg_current_snapshot();
  requeued int := 0;
  first_due timestamptz;
  in_queue text;
begin
  select t.recover_at into first_due
  from pgflow.step_tasks t
  where t.status = 'started' and t.recover_at >= pgflow._low_water(mark, moment) and t.recover_at <= moment
  order by t.recover_at
  limit 1;
  perform pgflow._move_low_water(mark, moment, seen, first_due, '1 minute', '1 minute');
  if first_due is null then
    return 0;
  end if;

  begin
    perform pgflow._end_stray_tasks(round_limit);
  exception when others then
    raise warning 'recovery: tasks of ended runs: % (%)', sqlerrm, sqlstate;
  end;
  perform pgflow._fail_exhausted(round_limit);

  for in_queue in
    select t.queue_name
    from (
      select x.queue_name, x.recover_at
      from pgflow.step_tasks x
      where x.status = 'started' and x.recover_at between first_due and moment and x.requeued_count < 3
      offset 0
    ) t
    group by t.queue_name
    order by min(t.recover_at)
  loop
    exit when requeued >= round_limit;
    begin
      requeued := requeued + pgflow._requeue_queue(in_queue, round_limit - requeued);
    exception when others then
      raise warning 'recovery: queue "%": % (%)', in_queue, sqlerrm, sqlstate;
    end;
  end loop;
  return requeued;
end
$$;
