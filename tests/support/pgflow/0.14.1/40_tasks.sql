-- Runs and tasks.
create function pgflow.start_flow(flow_slug text, input jsonb, run_id uuid default null)
returns setof pgflow.runs
language plpgsql
set search_path = ''
as $$
declare
  made pgflow.runs;
begin
  insert into pgflow.runs (run_id, flow_slug, input, remaining_steps)
  values (coalesce(start_flow.run_id, gen_random_uuid()), start_flow.flow_slug, start_flow.input,
          (select count(*) from pgflow.steps s where s.flow_slug = start_flow.flow_slug))
  returning * into made;
  insert into pgflow.step_states (flow_slug, run_id, step_slug, remaining_deps, initial_tasks)
  select made.flow_slug, made.run_id, s.step_slug, s.deps_count,
         case when s.step_type = 'single' then 1
              when s.deps_count = 0 then jsonb_array_length(case s.step_type when 'map' then made.input end) end
  from pgflow.steps s where s.flow_slug = made.flow_slug;
  perform realtime.send(jsonb_build_object('event_type', 'run:started', 'run_id', made.run_id, 'input', made.input),
                        'run:started', 'pgflow:run:' || made.run_id, false);
  if pgflow.cascade_resolve_conditions(made.run_id) then
    perform pgflow.cascade_complete_taskless_steps(made.run_id);
    perform pgflow.start_ready_steps(made.run_id);
    perform pgflow.maybe_complete_run(made.run_id);
  end if;
  return query select * from pgflow.runs r where r.run_id = made.run_id;
end
$$;

create function pgflow.start_tasks(flow_slug text, msg_ids bigint[], worker_id uuid)
returns setof pgflow.step_task_record
language sql
set search_path = ''
as $$
  with started as (
    update pgflow.step_tasks t
    set status = 'started', attempts_count = t.attempts_count + 1, started_at = clock_timestamp(),
        last_worker_id = start_tasks.worker_id
    from pgflow.runs r
    where t.flow_slug = start_tasks.flow_slug and t.message_id = any (start_tasks.msg_ids) and t.status = 'queued'
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
    cross join lateral pgflow.set_vt_batch(start_tasks.flow_slug, a.ids, a.vts)
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
  where h.messages >= 0
$$;

create function pgflow.complete_task(run_id uuid, step_slug text, task_index integer, output jsonb)
returns setof pgflow.step_tasks
language plpgsql
set search_path = ''
as $$
declare
  run pgflow.runs;
  state pgflow.step_states;
begin
  select * into run from pgflow.runs r where r.run_id = complete_task.run_id for update;
  select * into state from pgflow.step_states s
  where s.run_id = complete_task.run_id and s.step_slug = complete_task.step_slug for update;
  if run.status <> 'started' or state.status <> 'started' then
    perform pgflow._archive_task_message(complete_task.run_id, complete_task.step_slug, complete_task.task_index);
  else
    update pgflow.step_tasks t set status = 'completed', completed_at = clock_timestamp(), output = complete_task.output
    where t.run_id = complete_task.run_id and t.step_slug = complete_task.step_slug
      and t.task_index = complete_task.task_index and t.status = 'started';
    if found then
      perform pgflow._archive_task_message(complete_task.run_id, complete_task.step_slug, complete_task.task_index);
      update pgflow.step_states s
      set remaining_tasks = s.remaining_tasks - 1,
          status = case when s.remaining_tasks = 1 then 'completed' else 'started' end,
          completed_at = case when s.remaining_tasks = 1 then clock_timestamp() end,
          output = case when s.remaining_tasks > 1 then null
                        when st.step_type = 'single' then complete_task.output
                        else (select jsonb_agg(t.output order by t.task_index) from pgflow.step_tasks t
                              where t.run_id = s.run_id and t.step_slug = s.step_slug) end
      from pgflow.steps st
      where s.run_id = complete_task.run_id and s.step_slug = complete_task.step_slug
        and st.flow_slug = s.flow_slug and st.step_slug = s.step_slug
      returning s.* into state;
      if state.status = 'completed' then
        update pgflow.runs r set remaining_steps = r.remaining_steps - 1 where r.run_id = complete_task.run_id;
        update pgflow.step_states s
        set remaining_deps = s.remaining_deps - 1,
            initial_tasks = case when st.step_type = 'map' then jsonb_array_length(case st.step_type when 'map' then state.output end)
                                 else s.initial_tasks end
        from pgflow.deps d join pgflow.steps st on st.flow_slug = d.flow_slug and st.step_slug = d.step_slug
        where s.run_id = complete_task.run_id and d.flow_slug = s.flow_slug and d.dep_slug = complete_task.step_slug
          and s.step_slug = d.step_slug and s.status = 'created';
        if pgflow.cascade_resolve_conditions(complete_task.run_id) then
          perform pgflow.cascade_complete_taskless_steps(complete_task.run_id);
          perform pgflow.start_ready_steps(complete_task.run_id);
          perform pgflow.maybe_complete_run(complete_task.run_id);
        end if;
      end if;
    end if;
  end if;
  return query select * from pgflow.step_tasks t
    where t.run_id = complete_task.run_id and t.step_slug = complete_task.step_slug and t.task_index = complete_task.task_index;
end
$$;

-- What a failed run still has open stays queued or started for ever: only its messages go.
create function pgflow.fail_task(run_id uuid, step_slug text, task_index integer, error_message text)
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
    update pgflow.step_tasks t set status = 'failed', failed_at = clock_timestamp(), error_message = fail_task.error_message
    where t.run_id = fail_task.run_id and t.step_slug = fail_task.step_slug and t.task_index = fail_task.task_index
      and t.status = 'started';
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
      perform pgflow._archive_task_message(t.run_id, t.step_slug, t.task_index) from pgflow.step_tasks t
      where t.run_id = fail_task.run_id and t.status in ('queued', 'started');
    else
      perform pgflow._cascade_force_skip_steps(fail_task.run_id, fail_task.step_slug, 'handler_failed');
      perform pgflow.maybe_complete_run(fail_task.run_id);
    end if;
  end if;
  return query select * from pgflow.step_tasks t
    where t.run_id = fail_task.run_id and t.step_slug = fail_task.step_slug and t.task_index = fail_task.task_index;
end
$$;

create function pgflow.requeue_stalled_tasks()
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
    from pgflow.step_tasks t join pgflow.flows f on f.flow_slug = t.flow_slug
    where t.status = 'started' and t.permanently_stalled_at is null
      and t.started_at < clock_timestamp() - make_interval(secs => f.opt_timeout + 30)
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

create function pgflow.poll_for_tasks(queue_name text, vt integer, qty integer, max_poll_seconds integer default 5,
                                      poll_interval_ms integer default 100)
returns setof pgflow.step_task_record
language plpgsql
set search_path = ''
as $$
begin
  return;
end
$$;

create function pgflow.get_run_with_states(run_id uuid)
returns jsonb
language sql
security definer
as $$
  select jsonb_build_object('run', to_jsonb(r), 'steps', (
    select coalesce(jsonb_agg(to_jsonb(s) order by s.step_slug), '[]') from pgflow.step_states s where s.run_id = r.run_id))
  from pgflow.runs r where r.run_id = get_run_with_states.run_id
$$;

create function pgflow.start_flow_with_states(flow_slug text, input jsonb, run_id uuid default null)
returns jsonb
language plpgsql
security definer
as $$
declare
  made uuid;
begin
  select r.run_id into made from pgflow.start_flow(start_flow_with_states.flow_slug, start_flow_with_states.input,
                                                   start_flow_with_states.run_id) r;
  return pgflow.get_run_with_states(made);
end
$$;
