-- What pgflow 0.15.0 to 0.16.0 changed in a database of 0.14.1.
alter table pgflow.worker_functions add column start_mode text not null default 'http'
  check (start_mode in ('http', 'process'));

-- Rows that 0.14.1 left behind; their messages are not looked at.
alter table pgflow.step_tasks drop constraint valid_status;
alter table pgflow.step_tasks add constraint valid_status
  check (status in ('queued', 'started', 'completed', 'failed', 'skipped', 'cancelled'));
update pgflow.step_tasks t set status = 'skipped'
from pgflow.step_states s
where s.run_id = t.run_id and s.step_slug = t.step_slug and s.status = 'skipped' and t.status in ('queued', 'started');
update pgflow.step_tasks t set status = 'cancelled'
from pgflow.runs r
where r.run_id = t.run_id and r.status = 'failed' and t.status in ('queued', 'started');

drop function pgflow.track_worker_function(text);
create function pgflow.track_worker_function(function_name text, start_mode text default 'http')
returns void
language sql
as $$
  insert into pgflow.worker_functions (function_name, start_mode)
  values (track_worker_function.function_name, track_worker_function.start_mode)
  on conflict on constraint worker_functions_pkey do update
  set updated_at = clock_timestamp(), start_mode = excluded.start_mode
$$;

create or replace function pgflow.ensure_workers()
returns table (function_name text, invoked boolean, request_id bigint)
language sql
as $$
  with due as (
    update pgflow.worker_functions f set last_invoked_at = clock_timestamp()
    where f.enabled and f.start_mode = 'http' and coalesce(f.last_invoked_at, '-infinity') < clock_timestamp() - f.debounce and not exists (
      select from pgflow.workers w where w.function_name = f.function_name and w.stopped_at is null
        and w.deprecated_at is null and w.last_heartbeat_at > clock_timestamp() - f.debounce)
    returning f.function_name
  )
  select d.function_name, true, net.http_post('http://functions.test/' || d.function_name) from due d
$$;

drop function pgflow.ensure_flow_compiled(text, jsonb, boolean);
create function pgflow.ensure_flow_compiled(flow_slug text, shape jsonb)
returns jsonb
language plpgsql
set search_path = ''
as $$
declare
  differences text[];
begin
  perform pg_advisory_xact_lock(1, hashtext(ensure_flow_compiled.flow_slug));
  if not exists (select from pgflow.flows f where f.flow_slug = ensure_flow_compiled.flow_slug) then
    perform pgflow._create_flow_from_shape(ensure_flow_compiled.flow_slug, shape);
    return '{"status": "compiled", "differences": []}';
  end if;
  differences := pgflow._compare_flow_shapes(shape, pgflow._get_flow_shape(ensure_flow_compiled.flow_slug));
  if cardinality(differences) = 0 then
    return '{"status": "verified", "differences": []}';
  elsif pgflow.is_local() then
    perform pgflow.delete_flow_and_data(ensure_flow_compiled.flow_slug);
    perform pgflow._create_flow_from_shape(ensure_flow_compiled.flow_slug, shape);
    return jsonb_build_object('status', 'recompiled', 'differences', to_jsonb(differences));
  end if;
  return jsonb_build_object('status', 'mismatch', 'differences', to_jsonb(differences));
end
$$;

-- What ends with its run or step gets a status of its own; the rows come before their messages.
create or replace function pgflow._cascade_force_skip_steps(run_id uuid, step_slug text, skip_reason text)
returns integer
language plpgsql
as $$
declare
  skipped text[];
begin
  with recursive below as (
    select r.flow_slug, _cascade_force_skip_steps.step_slug as slug
    from pgflow.runs r where r.run_id = _cascade_force_skip_steps.run_id
    union
    select b.flow_slug, d.step_slug
    from below b join pgflow.deps d on d.flow_slug = b.flow_slug and d.dep_slug = b.slug
  ), marked as (
    update pgflow.step_states s
    set status = 'skipped', skipped_at = clock_timestamp(), remaining_tasks = null,
        skip_reason = case when s.step_slug = _cascade_force_skip_steps.step_slug then _cascade_force_skip_steps.skip_reason
                           else 'dependency_skipped' end
    from below b
    where s.run_id = _cascade_force_skip_steps.run_id and s.step_slug = b.slug and s.status in ('created', 'started')
    returning s.step_slug
  )
  select coalesce(array_agg(m.step_slug), '{}') into skipped from marked m;
  update pgflow.runs r set remaining_steps = r.remaining_steps - cardinality(skipped)
  where r.run_id = _cascade_force_skip_steps.run_id;
  update pgflow.step_tasks t set status = 'skipped'
  where t.run_id = _cascade_force_skip_steps.run_id and t.step_slug = any (skipped) and t.status in ('queued', 'started');
  perform pgflow._archive_task_message(t.run_id, t.step_slug, t.task_index)
  from pgflow.step_tasks t
  where t.run_id = _cascade_force_skip_steps.run_id and t.step_slug = any (skipped) and t.status = 'skipped';
  return cardinality(skipped);
end
$$;

create or replace function pgflow.fail_task(run_id uuid, step_slug text, task_index integer, error_message text)
returns setof pgflow.step_tasks
language plpgsql
set search_path = ''
as $$
declare
  run pgflow.runs;
  task pgflow.step_tasks;
  chosen record;
begin
  select * into run from pgflow.runs r where r.run_id = fail_task.run_id for update;
  select coalesce(s.opt_max_attempts, f.opt_max_attempts) as attempts, coalesce(s.opt_base_delay, f.opt_base_delay) as delay,
         s.when_exhausted into chosen
  from pgflow.steps s join pgflow.flows f on f.flow_slug = s.flow_slug
  where s.flow_slug = run.flow_slug and s.step_slug = fail_task.step_slug;
  if run.status <> 'started' then
    perform pgflow._archive_task_message(fail_task.run_id, fail_task.step_slug, fail_task.task_index);
    return query select * from pgflow.step_tasks t
      where t.run_id = fail_task.run_id and t.step_slug = fail_task.step_slug and t.task_index = fail_task.task_index;
    return;
  end if;
  update pgflow.step_tasks t
  set status = case when t.attempts_count < chosen.attempts then 'queued' else 'failed' end,
      started_at = case when t.attempts_count < chosen.attempts then null else t.started_at end,
      failed_at = case when t.attempts_count < chosen.attempts then null else clock_timestamp() end,
      error_message = fail_task.error_message
  where t.run_id = fail_task.run_id and t.step_slug = fail_task.step_slug and t.task_index = fail_task.task_index
    and t.status = 'started'
  returning * into task;
  if task.status = 'queued' then
    perform pgmq.set_vt(run.flow_slug, task.message_id, pgflow.calculate_retry_delay(chosen.delay, task.attempts_count));
  elsif task.status = 'failed' then
    perform pgflow._archive_task_message(task.run_id, task.step_slug, task.task_index);
    if chosen.when_exhausted = 'fail' then
      update pgflow.step_states s set status = 'failed', failed_at = clock_timestamp(), error_message = fail_task.error_message
      where s.run_id = fail_task.run_id and s.step_slug = fail_task.step_slug;
      update pgflow.runs r set status = 'failed', failed_at = clock_timestamp() where r.run_id = fail_task.run_id;
      update pgflow.step_tasks t set status = 'cancelled'
      where t.run_id = fail_task.run_id and t.status in ('queued', 'started');
      perform pgflow._archive_task_message(t.run_id, t.step_slug, t.task_index) from pgflow.step_tasks t
      where t.run_id = fail_task.run_id and t.status = 'cancelled';
    else
      perform pgflow._cascade_force_skip_steps(fail_task.run_id, fail_task.step_slug, 'handler_failed');
      perform pgflow.maybe_complete_run(fail_task.run_id);
    end if;
  end if;
  return query select * from pgflow.step_tasks t
    where t.run_id = fail_task.run_id and t.step_slug = fail_task.step_slug and t.task_index = fail_task.task_index;
end
$$;

create or replace function pgflow.requeue_stalled_tasks()
returns integer
language plpgsql
security definer
set search_path = ''
as $$
declare
  stalled record;
  requeued integer := 0;
begin
  for stalled in
    select t.run_id, t.step_slug, t.task_index, t.message_id, t.flow_slug, t.requeued_count
    from pgflow.step_tasks t
    join pgflow.flows f on f.flow_slug = t.flow_slug
    join pgflow.steps s on s.flow_slug = t.flow_slug and s.step_slug = t.step_slug
    join pgflow.runs r on r.run_id = t.run_id and r.status = 'started'
    where t.status = 'started' and t.permanently_stalled_at is null
      and t.started_at < clock_timestamp() - make_interval(secs => coalesce(s.opt_timeout, f.opt_timeout) + 30)
    for update of t skip locked
  loop
    if stalled.requeued_count >= 3 then
      update pgflow.step_tasks t set permanently_stalled_at = clock_timestamp()
      where (t.run_id, t.step_slug, t.task_index) = (stalled.run_id, stalled.step_slug, stalled.task_index);
      perform pgflow._archive_task_message(stalled.run_id, stalled.step_slug, stalled.task_index);
    else
      update pgflow.step_tasks t
      set status = 'queued', started_at = null, last_worker_id = null, requeued_count = t.requeued_count + 1,
          last_requeued_at = clock_timestamp()
      where (t.run_id, t.step_slug, t.task_index) = (stalled.run_id, stalled.step_slug, stalled.task_index);
      perform pgmq.set_vt(stalled.flow_slug, stalled.message_id, 0);
      requeued := requeued + 1;
    end if;
  end loop;
  return requeued;
end
$$;
