-- Schedules a named pg_cron job, replacing one of that name; false, with a
-- notice, where pg_cron is missing.
create function pgflow._schedule_job(job_name text, schedule text, command text)
returns boolean
language plpgsql
set search_path = ''
as $$
begin
  if to_regclass('cron.job') is null then
    raise notice 'pg_cron is not installed: % was not scheduled', job_name
      using hint = 'create extension pg_cron, or run this every ' || schedule || ': ' || command;
    return false;
  end if;
  execute 'select cron.unschedule(j.jobid) from cron.job j where j.jobname = $1' using job_name;
  execute 'select cron.schedule($1, $2, $3)' using job_name, schedule, command;
  return true;
end
$$;
