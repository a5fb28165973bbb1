-- Tasks and messages by the queue that each task stores.
create or replace function pgflow._archive_task_message(p_run_id uuid, p_step_slug text, p_task_index integer)
returns void
language sql
set search_path = ''
as $$
  select pgmq.archive(t.queue_name, array_agg(t.message_id))
  from pgflow.step_tasks t
  where t.run_id = p_run_id and t.step_slug = p_step_slug and t.task_index = p_task_index and t.message_id is not null
  group by t.queue_name
$$;

create or replace function pgflow.start_ready_steps(run_id uuid)
returns void
language plpgsql
set search_path = ''
as $$
declare
  ready record;
begin
  for ready in
    update pgflow.step_states s
    set status = 'started', started_at = clock_timestamp(), remaining_tasks = s.initial_tasks
    from pgflow.steps st
    where s.run_id = start_ready_steps.run_id and s.status = 'created' and s.remaining_deps = 0 and s.initial_tasks > 0
      and st.flow_slug = s.flow_slug and st.step_slug = s.step_slug
      and exists (select from pgflow.runs r where r.run_id = start_ready_steps.run_id and r.status = 'started')
    returning s.flow_slug, s.step_slug, s.initial_tasks, st.queue_name, coalesce(st.opt_start_delay, 0) as delay
  loop
    insert into pgflow.step_tasks (flow_slug, run_id, step_slug, task_index, queue_name, message_id)
    select ready.flow_slug, start_ready_steps.run_id, ready.step_slug, i, ready.queue_name,
           pgmq.send(ready.queue_name, jsonb_build_object('flow_slug', ready.flow_slug, 'run_id', start_ready_steps.run_id,
                     'step_slug', ready.step_slug, 'task_index', i), ready.delay)
    from generate_series(0, ready.initial_tasks - 1) i;
  end loop;
end
$$;

drop function pgflow.start_tasks(text, bigint[], uuid);
create function pgflow.start_tasks(flow_slug text, msg_ids bigint[], worker_id uuid, queue_name text,
                                   step_slug text default null)
returns setof pgflow.step_task_record
language plpgsql
set search_path = ''
set plan_cache_mode = force_custom_plan
as $$
declare
  mode text := (select f.queue_mode from pgflow.flows f where f.flow_slug = start_tasks.flow_slug);
begin
  if mode = 'step' and start_tasks.step_slug is null then
    raise exception 'flow "%" is in step mode: start_tasks needs a step_slug', start_tasks.flow_slug;
  elsif mode = 'flow' and start_tasks.step_slug is not null then
    raise exception 'flow "%" is in flow mode: start_tasks takes no step_slug', start_tasks.flow_slug;
  elsif mode = 'step' and not exists (
    select from pgflow.steps s where s.flow_slug = start_tasks.flow_slug and s.step_slug = start_tasks.step_slug
      and s.queue_name = start_tasks.queue_name) then
    raise exception 'step "%" is not routed to queue "%"', start_tasks.step_slug, start_tasks.queue_name;
  end if;
  return query
  with started as (
    update pgflow.step_tasks t
    set status = 'started', attempts_count = t.attempts_count + 1, started_at = clock_timestamp(),
        last_worker_id = start_tasks.worker_id
    from pgflow.runs r
    where t.flow_slug = start_tasks.flow_slug and t.queue_name = lower(start_tasks.queue_name)
      and t.message_id = any (start_tasks.msg_ids) and t.status = 'queued'
      and r.run_id = t.run_id and r.status = 'started'
    returning t.flow_slug, t.run_id, t.step_slug, t.message_id, t.task_index, r.input as flow_input
  ), task as (
    select t.*, s.step_type, s.deps_count, coalesce(s.opt_timeout, f.opt_timeout) + 2 as vt
    from started t
    join pgflow.steps s on s.flow_slug = t.flow_slug and s.step_slug = t.step_slug
    join pgflow.flows f on f.flow_slug = t.flow_slug
  ), hidden as materialized (
    select count(*) as messages
    from (select array_agg(t.message_id) as ids, array_agg(t.vt) as vts from task t having count(*) > 0) a
    cross join lateral pgflow.set_vt_batch(start_tasks.queue_name, a.ids, a.vts)
  )
  select t.flow_slug, t.run_id, t.step_slug,
         case when t.step_type = 'map' and t.deps_count = 0 then t.flow_input -> t.task_index
              when t.step_type = 'map' then (select o.output -> t.task_index from pgflow.deps d
                   join pgflow.step_states o on o.run_id = t.run_id and o.step_slug = d.dep_slug
                   where d.flow_slug = t.flow_slug and d.step_slug = t.step_slug)
              when t.deps_count = 0 then t.flow_input
              else (select coalesce(jsonb_object_agg(d.dep_slug, o.output), '{}') from pgflow.deps d
                    join pgflow.step_states o on o.run_id = t.run_id and o.step_slug = d.dep_slug and o.status = 'completed'
                    where d.flow_slug = t.flow_slug and d.step_slug = t.step_slug) end,
         t.message_id, t.task_index,
         case when t.step_type = 'single' and t.deps_count = 0 then t.flow_input end
  from task t cross join hidden h
  where h.messages >= 0;
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
    perform pgmq.set_vt(task.queue_name, task.message_id, pgflow.calculate_retry_delay(chosen.delay, task.attempts_count));
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
    select t.run_id, t.step_slug, t.task_index, t.message_id, t.queue_name, t.requeued_count
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
      perform pgmq.set_vt(stalled.queue_name, stalled.message_id, 0);
      requeued := requeued + 1;
    end if;
  end loop;
  return requeued;
end
$$;
