-- Schedules ensure_workers() and the hourly cleanup of its log with pg_cron.
-- Returns what was done, for people.
create function pgflow.setup_ensure_workers_cron(cron_interval text default '1 second')
returns text
language plpgsql
security definer
set search_path = ''
as $$
begin
  if not pgflow._schedule_job('pgflow_ensure_workers', cron_interval, 'select pgflow.ensure_workers()') then
    return 'Nothing scheduled: pg_cron is not installed';
  end if;
  perform pgflow._schedule_job('pgflow_cleanup_logs', '0 * * * *', 'select pgflow.cleanup_ensure_workers_logs()');
  return format('Scheduled pgflow_ensure_workers (every %s) and pgflow_cleanup_logs (hourly)', cron_interval);
end
$$;
