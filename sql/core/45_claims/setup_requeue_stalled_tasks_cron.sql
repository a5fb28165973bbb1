-- Schedules requeue_stalled_tasks() with pg_cron, for installations whose workers
-- do not call maintain(). Returns what was done, for people.
create function pgflow.setup_requeue_stalled_tasks_cron(cron_interval text default '15 seconds')
returns text
language plpgsql
security definer
set search_path = ''
as $$
begin
  if not pgflow._schedule_job(
    'pgflow_requeue_stalled_tasks', cron_interval, 'select pgflow.requeue_stalled_tasks()') then
    return 'Nothing scheduled: pg_cron is not installed';
  end if;
  return format('Scheduled pgflow_requeue_stalled_tasks (every %s)', cron_interval);
end
$$;
