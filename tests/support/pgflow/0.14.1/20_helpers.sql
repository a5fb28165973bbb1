-- Helpers. Old bodies that a transaction still runs call them by these names.
create function pgflow.is_local()
returns boolean
language sql
stable
parallel safe
set search_path = ''
as $$ select coalesce(current_setting('app.settings.jwt_secret', true), '') <> '' $$;

create function pgflow.calculate_retry_delay(base_delay numeric, attempts_count integer)
returns integer
language sql
immutable
parallel safe
set search_path = ''
as $$ select least(86400, floor(base_delay * power(2, attempts_count)))::integer $$;

create function pgflow.set_vt_batch(queue_name text, msg_ids bigint[], vt_offsets integer[])
returns table (msg_id bigint, read_ct integer, enqueued_at timestamptz, vt timestamptz, message jsonb, headers jsonb)
language plpgsql
as $$
begin
  return query execute format(
    'update pgmq.%I q set vt = clock_timestamp() + make_interval(secs => o.secs)
     from unnest($1, $2) o(id, secs) where q.msg_id = o.id
     returning q.msg_id, q.read_ct::integer, q.enqueued_at, q.vt, q.message, q.headers', 'q_' || lower(queue_name))
  using msg_ids, vt_offsets;
end
$$;

create function pgflow._archive_task_message(p_run_id uuid, p_step_slug text, p_task_index integer)
returns void
language sql
set search_path = ''
as $$
  select pgmq.archive(t.flow_slug, array_agg(t.message_id))
  from pgflow.step_tasks t
  where t.run_id = p_run_id and t.step_slug = p_step_slug and t.task_index = p_task_index and t.message_id is not null
  group by t.flow_slug
$$;

create function pgflow.maybe_complete_run(run_id uuid)
returns void
language plpgsql
set search_path = ''
as $$
declare
  ended pgflow.runs;
begin
  update pgflow.runs r
  set status = 'completed', completed_at = clock_timestamp(), output = (
        select coalesce(jsonb_object_agg(s.step_slug, s.output), '{}')
        from pgflow.step_states s
        where s.run_id = r.run_id and s.status = 'completed' and not exists (
          select from pgflow.deps d where d.flow_slug = s.flow_slug and d.dep_slug = s.step_slug))
  where r.run_id = maybe_complete_run.run_id and r.status = 'started' and r.remaining_steps = 0
  returning * into ended;
  if ended.run_id is not null then
    perform realtime.send(jsonb_build_object('event_type', 'run:completed', 'run_id', ended.run_id, 'output', ended.output),
                          'run:completed', 'pgflow:run:' || ended.run_id, false);
  end if;
end
$$;

create function pgflow._cascade_force_skip_steps(run_id uuid, step_slug text, skip_reason text)
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
  perform pgflow._archive_task_message(t.run_id, t.step_slug, t.task_index)
  from pgflow.step_tasks t
  where t.run_id = _cascade_force_skip_steps.run_id and t.step_slug = any (skipped) and t.status in ('queued', 'started');
  return cardinality(skipped);
end
$$;

create function pgflow.cascade_complete_taskless_steps(run_id uuid)
returns integer
language plpgsql
as $$
declare
  done text[];
  total integer := 0;
begin
  loop
    with ended as (
      update pgflow.step_states s
      set status = 'completed', started_at = clock_timestamp(), completed_at = clock_timestamp(), remaining_tasks = 0, output = '[]'
      where s.run_id = cascade_complete_taskless_steps.run_id and s.status = 'created' and s.remaining_deps = 0
        and s.initial_tasks = 0
      returning s.step_slug
    )
    select coalesce(array_agg(e.step_slug), '{}') into done from ended e;
    exit when cardinality(done) = 0;
    total := total + cardinality(done);
    update pgflow.runs r set remaining_steps = r.remaining_steps - cardinality(done)
    where r.run_id = cascade_complete_taskless_steps.run_id;
    update pgflow.step_states s
    set remaining_deps = s.remaining_deps - n.deps,
        initial_tasks = case when st.step_type = 'map' then 0 else s.initial_tasks end
    from (select d.flow_slug, d.step_slug, count(*)::integer as deps from pgflow.deps d
          where d.dep_slug = any (done) group by 1, 2) n
    join pgflow.steps st on st.flow_slug = n.flow_slug and st.step_slug = n.step_slug
    where s.run_id = cascade_complete_taskless_steps.run_id and s.flow_slug = n.flow_slug and s.step_slug = n.step_slug
      and s.status = 'created';
  end loop;
  return total;
end
$$;

-- False: a condition failed the run.
create function pgflow.cascade_resolve_conditions(run_id uuid)
returns boolean
language plpgsql
set search_path = ''
as $$
declare
  unmet record;
begin
  loop
    select s.step_slug, st.when_unmet into unmet
    from pgflow.step_states s
    join pgflow.steps st on st.flow_slug = s.flow_slug and st.step_slug = s.step_slug
    join pgflow.runs r on r.run_id = s.run_id and r.status = 'started'
    cross join lateral (
      select case when st.deps_count = 0 then r.input
                  else coalesce((select jsonb_object_agg(d.dep_slug, o.output)
                        from pgflow.deps d
                        join pgflow.step_states o on o.run_id = s.run_id and o.step_slug = d.dep_slug and o.status = 'completed'
                        where d.flow_slug = s.flow_slug and d.step_slug = s.step_slug), '{}') end as given) i
    where s.run_id = cascade_resolve_conditions.run_id and s.status = 'created' and s.remaining_deps = 0
      and ((st.required_input_pattern is not null and not i.given @> st.required_input_pattern)
           or (st.forbidden_input_pattern is not null and i.given @> st.forbidden_input_pattern))
    order by st.step_index
    limit 1;
    exit when not found;
    if unmet.when_unmet = 'fail' then
      update pgflow.step_states s set status = 'failed', failed_at = clock_timestamp(), error_message = 'Condition not met'
      where s.run_id = cascade_resolve_conditions.run_id and s.step_slug = unmet.step_slug;
      update pgflow.runs r set status = 'failed', failed_at = clock_timestamp()
      where r.run_id = cascade_resolve_conditions.run_id;
      return false;
    elsif unmet.when_unmet = 'skip-cascade' then
      perform pgflow._cascade_force_skip_steps(cascade_resolve_conditions.run_id, unmet.step_slug, 'condition_unmet');
    else
      update pgflow.step_states s
      set status = 'skipped', skipped_at = clock_timestamp(), skip_reason = 'condition_unmet', remaining_tasks = null
      where s.run_id = cascade_resolve_conditions.run_id and s.step_slug = unmet.step_slug;
      update pgflow.runs r set remaining_steps = r.remaining_steps - 1 where r.run_id = cascade_resolve_conditions.run_id;
      update pgflow.step_states s
      set remaining_deps = s.remaining_deps - 1,
          initial_tasks = case when st.step_type = 'map' then 0 else s.initial_tasks end
      from pgflow.deps d join pgflow.steps st on st.flow_slug = d.flow_slug and st.step_slug = d.step_slug
      where s.run_id = cascade_resolve_conditions.run_id and d.flow_slug = s.flow_slug and d.dep_slug = unmet.step_slug
        and s.step_slug = d.step_slug and s.status = 'created';
    end if;
  end loop;
  return true;
end
$$;

create function pgflow.start_ready_steps(run_id uuid)
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
    returning s.flow_slug, s.step_slug, s.initial_tasks, coalesce(st.opt_start_delay, 0) as delay
  loop
    insert into pgflow.step_tasks (flow_slug, run_id, step_slug, task_index, message_id)
    select ready.flow_slug, start_ready_steps.run_id, ready.step_slug, i,
           pgmq.send(ready.flow_slug, jsonb_build_object('flow_slug', ready.flow_slug, 'run_id', start_ready_steps.run_id,
                     'step_slug', ready.step_slug, 'task_index', i), ready.delay)
    from generate_series(0, ready.initial_tasks - 1) i;
  end loop;
end
$$;
