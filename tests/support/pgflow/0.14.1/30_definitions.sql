-- Definitions.
create function pgflow.create_flow(flow_slug text, max_attempts integer default null, base_delay integer default null,
                                   timeout integer default null)
returns pgflow.flows
language sql
set search_path = ''
as $$
  select pgmq.create(create_flow.flow_slug)
  where not exists (select from pgmq.meta m where lower(m.queue_name) = lower(create_flow.flow_slug));
  insert into pgflow.flows (flow_slug, opt_max_attempts, opt_base_delay, opt_timeout)
  values (create_flow.flow_slug, coalesce(max_attempts, 3), coalesce(base_delay, 1), coalesce(timeout, 60))
  on conflict on constraint flows_pkey do update set flow_slug = excluded.flow_slug
  returning *
$$;

create function pgflow.add_step(
  flow_slug text, step_slug text, deps_slugs text[] default '{}', max_attempts integer default null,
  base_delay integer default null, timeout integer default null, start_delay integer default null,
  step_type text default 'single', required_input_pattern jsonb default null, forbidden_input_pattern jsonb default null,
  when_unmet text default 'skip', when_exhausted text default 'fail')
returns pgflow.steps
language plpgsql
set search_path = ''
as $$
declare
  made pgflow.steps;
begin
  insert into pgflow.steps (flow_slug, step_slug, step_type, step_index, deps_count, opt_max_attempts, opt_base_delay,
                            opt_timeout, opt_start_delay, required_input_pattern, forbidden_input_pattern, when_unmet,
                            when_exhausted)
  values (add_step.flow_slug, add_step.step_slug, add_step.step_type,
          (select coalesce(max(s.step_index) + 1, 0) from pgflow.steps s where s.flow_slug = add_step.flow_slug),
          cardinality(deps_slugs), max_attempts, base_delay, timeout, start_delay, add_step.required_input_pattern,
          add_step.forbidden_input_pattern, add_step.when_unmet, add_step.when_exhausted)
  on conflict on constraint steps_pkey do update set step_slug = excluded.step_slug
  returning * into made;
  insert into pgflow.deps (flow_slug, dep_slug, step_slug)
  select add_step.flow_slug, d, add_step.step_slug from unnest(deps_slugs) d
  on conflict do nothing;
  return made;
end
$$;

create function pgflow._get_flow_shape(p_flow_slug text)
returns jsonb
language sql
stable
set search_path = ''
as $$
  select jsonb_build_object('steps', coalesce(jsonb_agg(jsonb_build_object(
    'slug', s.step_slug, 'stepType', s.step_type,
    'dependencies', (select coalesce(jsonb_agg(d.dep_slug order by d.dep_slug), '[]') from pgflow.deps d
                     where d.flow_slug = s.flow_slug and d.step_slug = s.step_slug)) order by s.step_index), '[]'))
  from pgflow.steps s where s.flow_slug = p_flow_slug
$$;

create function pgflow._compare_flow_shapes(p_local jsonb, p_db jsonb)
returns text[]
language plpgsql
stable
set search_path = ''
as $$
begin
  return array(
    select format('Step at index %s differs', coalesce(l.at, d.at) - 1)
    from jsonb_array_elements(p_local -> 'steps') with ordinality l(step, at)
    full join jsonb_array_elements(p_db -> 'steps') with ordinality d(step, at) on d.at = l.at
    where (l.step ->> 'slug', l.step ->> 'stepType') is distinct from (d.step ->> 'slug', d.step ->> 'stepType')
       or not coalesce(l.step -> 'dependencies' @> (d.step -> 'dependencies')
                       and d.step -> 'dependencies' @> (l.step -> 'dependencies'), false)
    order by coalesce(l.at, d.at));
end
$$;

create function pgflow._create_flow_from_shape(p_flow_slug text, p_shape jsonb)
returns void
language plpgsql
set search_path = ''
as $$
begin
  perform pgflow.create_flow(p_flow_slug, (p_shape -> 'options' ->> 'maxAttempts')::integer,
                             (p_shape -> 'options' ->> 'baseDelay')::integer, (p_shape -> 'options' ->> 'timeout')::integer);
  perform pgflow.add_step(p_flow_slug, s ->> 'slug', array(select jsonb_array_elements_text(s -> 'dependencies')),
                          step_type => coalesce(s ->> 'stepType', 'single'))
  from jsonb_array_elements(p_shape -> 'steps') with ordinality o(s, at)
  order by at;
end
$$;

create function pgflow.delete_flow_and_data(p_flow_slug text)
returns void
language plpgsql
set search_path = ''
as $$
begin
  perform pgmq.drop_queue(m.queue_name) from pgmq.meta m where lower(m.queue_name) = lower(p_flow_slug);
  delete from pgflow.step_tasks t where t.flow_slug = p_flow_slug;
  delete from pgflow.step_states s where s.flow_slug = p_flow_slug;
  delete from pgflow.runs r where r.flow_slug = p_flow_slug;
  delete from pgflow.deps d where d.flow_slug = p_flow_slug;
  delete from pgflow.steps s where s.flow_slug = p_flow_slug;
  delete from pgflow.flows f where f.flow_slug = p_flow_slug;
end
$$;

create function pgflow.ensure_flow_compiled(flow_slug text, shape jsonb, allow_data_loss boolean default false)
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
  elsif pgflow.is_local() or allow_data_loss then
    perform pgflow.delete_flow_and_data(ensure_flow_compiled.flow_slug);
    perform pgflow._create_flow_from_shape(ensure_flow_compiled.flow_slug, shape);
    return jsonb_build_object('status', 'recompiled', 'differences', to_jsonb(differences));
  end if;
  return jsonb_build_object('status', 'mismatch', 'differences', to_jsonb(differences));
end
$$;
