-- What tells pgflow's authors, once a day, how it is used: here it only keeps what it would send.
create schema pgflow_telemetry;
create table pgflow_telemetry.sent_reports (
  day date primary key not null,
  payload jsonb not null,
  request_id bigint,
  sent_at timestamptz not null default now()
);
create table pgflow_telemetry.job_registry (
  jobname text primary key not null,
  jobid bigint not null,
  created_at timestamptz not null default now()
);

create function pgflow_telemetry.bucket_count(p_count bigint)
returns text
language sql
immutable
parallel safe
set search_path = ''
as $$ select case when p_count = 0 then '0' else 'up to 10^' || length(p_count::text) end $$;

create function pgflow_telemetry.bucket_duration(p_duration interval)
returns text
language sql
immutable
parallel safe
set search_path = ''
as $$ select case when p_duration < interval '1 minute' then 'seconds' else 'longer' end $$;

create function pgflow_telemetry.bucket_steps(p_steps bigint)
returns text
language sql
immutable
parallel safe
set search_path = ''
as $$ select case when p_steps < 10 then p_steps::text else '10 or more' end $$;

create function pgflow_telemetry.build_payload(p_day date)
returns jsonb
language sql
stable
set search_path = ''
as $$
  select jsonb_build_object(
    'day', p_day,
    'runs', (select pgflow_telemetry.bucket_count(count(*)) from pgflow.runs r where r.started_at::date = p_day),
    'versions', (select coalesce(jsonb_agg(distinct w.pgflow_version), '[]') from pgflow.workers w),
    'modes', (select coalesce(jsonb_agg(distinct f.queue_mode), '[]') from pgflow.flows f),
    'starts', (select coalesce(jsonb_agg(distinct f.start_mode), '[]') from pgflow.worker_functions f))
$$;

create function pgflow_telemetry.preview(p_day date default current_date - 1)
returns jsonb
language sql
stable
set search_path = ''
as $$ select pgflow_telemetry.build_payload(p_day) $$;

create function pgflow_telemetry.report()
returns text
language plpgsql
set search_path = ''
as $$
begin
  insert into pgflow_telemetry.sent_reports (day, payload)
  values (current_date - 1, pgflow_telemetry.build_payload(current_date - 1))
  on conflict do nothing;
  return case when found then 'sent' else 'already sent' end;
end
$$;

create function pgflow_telemetry.job_is_scheduled()
returns boolean
language plpgsql
stable
security definer
set search_path = ''
as $$
begin
  return exists (select from cron.job j where j.jobname = 'pgflow_telemetry_report');
end
$$;

create function pgflow_telemetry.enable()
returns void
language plpgsql
set search_path = ''
as $$
begin
  insert into pgflow_telemetry.job_registry (jobname, jobid)
  values ('pgflow_telemetry_report', cron.schedule('pgflow_telemetry_report', '17 3 * * *',
          'begin; set local statement_timeout = ''5 s''; select pgflow_telemetry.report(); commit;'))
  on conflict (jobname) do update set jobid = excluded.jobid;
end
$$;

create function pgflow_telemetry.disable()
returns void
language plpgsql
set search_path = ''
as $$
begin
  perform cron.unschedule(r.jobid) from pgflow_telemetry.job_registry r;
  delete from pgflow_telemetry.job_registry;
end
$$;

do $$ begin perform pgflow_telemetry.enable(); end $$;
