-- Recovery: tasks whose deadline (recover_at) has passed while run and step are
-- started. The exhausted ones first, they fail with [STALLED]; then the others go
-- back to the queue, at most three times each, at most 1,000 tasks a round, each
-- queue in a subtransaction: one that raises is reported as a warning and stops
-- nobody else, and so does one whose message is not to be had within 2 s. It never
-- looks at what the caller can run. Tasks whose run or step has ended are ended, too.
-- Returns the number of tasks requeued.
-- Callers: maintain, the cron job of existing installations. Locks: runs and
-- tasks by skip locked, then messages.
create function pgflow.requeue_stalled_tasks()
returns int
language plpgsql
security definer
set search_path = ''
set lock_timeout = '2s'
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
as $$
declare
  round_limit constant int := 1000;
  requeued int := 0;
  in_queue text;
begin
  begin
    perform pgflow._end_stray_tasks(round_limit);
  exception when others then
    raise warning 'recovery: tasks of ended runs: % (%)', sqlerrm, sqlstate;
  end;
  perform pgflow._fail_exhausted(round_limit);

  for in_queue in
    select t.queue_name
    from pgflow.step_tasks t
    where t.status = 'started' and t.recover_at <= clock_timestamp() and t.requeued_count < 3
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
