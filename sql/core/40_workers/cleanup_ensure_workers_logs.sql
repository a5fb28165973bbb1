-- Deletes pg_cron's log rows of the jobs that this schema sets up, older than
-- retention_hours. One row: how many. Zero, with a notice, without pg_cron.
create function pgflow.cleanup_ensure_workers_logs(retention_hours int default 24)
returns table (cron_deleted bigint)
language plpgsql
security definer
set search_path = ''
as $$
begin
  cron_deleted := 0;
  if to_regclass('cron.job_run_details') is null then
    raise notice 'pg_cron is not installed: there is no log to clean up';
  else
    execute 'delete from cron.job_run_details d
      where d.jobid in (select j.jobid from cron.job j where j.jobname in
          (''pgflow_ensure_workers'', ''pgflow_cleanup_logs'', ''pgflow_requeue_stalled_tasks''))
        and d.end_time < clock_timestamp() - make_interval(hours => $1)'
    using retention_hours;
    get diagnostics cron_deleted = row_count;
  end if;
  return next;
end
$$;
