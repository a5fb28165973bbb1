-- Workers and cron.
create function pgflow.mark_worker_stopped(worker_id uuid)
returns void
language sql
as $$ update pgflow.workers w set stopped_at = clock_timestamp() where w.worker_id = mark_worker_stopped.worker_id $$;

create function pgflow.track_worker_function(function_name text)
returns void
language sql
as $$
  insert into pgflow.worker_functions (function_name) values (track_worker_function.function_name)
  on conflict on constraint worker_functions_pkey do update set updated_at = clock_timestamp()
$$;

create function pgflow.ensure_workers()
returns table (function_name text, invoked boolean, request_id bigint)
language sql
as $$
  with due as (
    update pgflow.worker_functions f set last_invoked_at = clock_timestamp()
    where f.enabled and coalesce(f.last_invoked_at, '-infinity') < clock_timestamp() - f.debounce and not exists (
      select from pgflow.workers w where w.function_name = f.function_name and w.stopped_at is null
        and w.deprecated_at is null and w.last_heartbeat_at > clock_timestamp() - f.debounce)
    returning f.function_name
  )
  select d.function_name, true, net.http_post('http://functions.test/' || d.function_name) from due d
$$;

create function pgflow.cleanup_ensure_workers_logs(retention_hours integer default 24)
returns table (cron_deleted bigint)
language sql
security definer
set search_path = pgflow, cron, pg_temp
as $$
  with gone as (
    delete from cron.job_run_details d using cron.job j
    where j.jobid = d.jobid and j.jobname = 'pgflow_ensure_workers'
      and d.end_time < clock_timestamp() - make_interval(hours => retention_hours)
    returning 1
  )
  select count(*) from gone
$$;

create function pgflow.setup_ensure_workers_cron(cron_interval text default '1 second')
returns text
language plpgsql
security definer
set search_path = pgflow, cron, pg_temp
as $$
begin
  perform cron.schedule('pgflow_ensure_workers', cron_interval, 'select pgflow.ensure_workers()');
  perform cron.schedule('pgflow_cleanup_logs', '0 * * * *', 'select pgflow.cleanup_ensure_workers_logs()');
  return format('Scheduled pgflow_ensure_workers (every %s) and pgflow_cleanup_logs (hourly)', cron_interval);
end
$$;

create function pgflow.setup_requeue_stalled_tasks_cron(cron_interval text default '15 seconds')
returns text
language plpgsql
security definer
set search_path = pgflow, cron, pg_temp
as $$
begin
  perform cron.schedule('pgflow_requeue_stalled_tasks', cron_interval, 'select pgflow.requeue_stalled_tasks()');
  return format('Scheduled pgflow_requeue_stalled_tasks (every %s)', cron_interval);
end
$$;

do $$ begin perform pgflow.setup_ensure_workers_cron(), pgflow.setup_requeue_stalled_tasks_cron(); end $$;
