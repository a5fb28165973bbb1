-- Routes.
create function pgflow._listed_queue_name(p_queue_name text)
returns text
language plpgsql
stable
set search_path = ''
as $$
begin
  return (select min(m.queue_name) from pgmq.meta m where lower(m.queue_name) = lower(p_queue_name));
end
$$;

create function pgflow._assert_step_queue_available(p_flow_slug text, p_queue_name text)
returns boolean
language plpgsql
set search_path = ''
as $$
begin
  if pgflow._listed_queue_name(p_queue_name) is not null then
    raise exception 'queue "%" exists and does not belong to flow "%"', p_queue_name, p_flow_slug;
  end if;
  return true;
end
$$;

create function pgflow._resolve_step_queue_name(p_flow_slug text, p_step_slug text, p_step_index integer)
returns text
language plpgsql
immutable
set search_path = ''
as $$
declare
  route text := lower(p_flow_slug || '__' || p_step_slug);
begin
  if length(route) > 47 then
    route := lower(p_flow_slug || '__' || p_step_index);
  end if;
  if length(route) > 47 then
    raise exception 'step "%" of flow "%" has no queue name of up to 47 characters', p_step_slug, p_flow_slug;
  end if;
  return route;
end
$$;

create function pgflow._derive_queue_routes(p_flow_slug text, p_shape jsonb, p_queue_mode text)
returns jsonb
language plpgsql
set search_path = ''
as $$
begin
  return (
    select jsonb_agg(jsonb_build_object('stepSlug', s ->> 'slug', 'queueName',
             case when p_queue_mode = 'flow' then lower(p_flow_slug)
                  else pgflow._resolve_step_queue_name(p_flow_slug, s ->> 'slug', at::integer - 1) end) order by at)
    from jsonb_array_elements(p_shape -> 'steps') with ordinality o(s, at));
end
$$;

drop function pgflow.create_flow(text, integer, integer, integer);
create function pgflow.create_flow(flow_slug text, max_attempts integer default null, base_delay integer default null,
                                   timeout integer default null)
returns pgflow.flows
language plpgsql
set search_path = ''
as $$
declare
  made pgflow.flows;
begin
  perform pg_advisory_xact_lock(1, hashtext(lower(create_flow.flow_slug)));
  insert into pgflow.flows (flow_slug, opt_max_attempts, opt_base_delay, opt_timeout)
  values (create_flow.flow_slug, coalesce(max_attempts, 3), coalesce(base_delay, 1), coalesce(timeout, 60))
  on conflict on constraint flows_pkey do update set flow_slug = excluded.flow_slug
  returning * into made;
  if pgflow._listed_queue_name(create_flow.flow_slug) is null then
    perform pgmq.create(lower(create_flow.flow_slug));
  end if;
  return made;
end
$$;

create or replace function pgflow.add_step(
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
  if exists (select from pgflow.flows f where f.flow_slug = add_step.flow_slug and f.queue_mode = 'step') then
    raise exception 'flow "%" is in step mode: compile it as a whole', add_step.flow_slug;
  end if;
  insert into pgflow.steps (flow_slug, step_slug, step_type, step_index, deps_count, opt_max_attempts, opt_base_delay,
                            opt_timeout, opt_start_delay, required_input_pattern, forbidden_input_pattern, when_unmet,
                            when_exhausted, queue_name)
  values (add_step.flow_slug, add_step.step_slug, add_step.step_type,
          (select coalesce(max(s.step_index) + 1, 0) from pgflow.steps s where s.flow_slug = add_step.flow_slug),
          cardinality(deps_slugs), max_attempts, base_delay, timeout, start_delay, add_step.required_input_pattern,
          add_step.forbidden_input_pattern, add_step.when_unmet, add_step.when_exhausted,
          lower(add_step.flow_slug))
  on conflict on constraint steps_pkey do update set step_slug = excluded.step_slug
  returning * into made;
  insert into pgflow.deps (flow_slug, dep_slug, step_slug)
  select add_step.flow_slug, d, add_step.step_slug from unnest(deps_slugs) d
  on conflict do nothing;
  return made;
end
$$;

drop function pgflow._create_flow_from_shape(text, jsonb);
create function pgflow._create_flow_from_shape(p_flow_slug text, p_shape jsonb, p_queue_mode text default 'flow')
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
  if p_queue_mode = 'step' then
    perform pgmq.drop_queue(pgflow._listed_queue_name(p_flow_slug));
    update pgflow.flows f set queue_mode = 'step' where f.flow_slug = p_flow_slug;
    update pgflow.steps s set queue_name = pgflow._resolve_step_queue_name(p_flow_slug, s.step_slug, s.step_index)
    where s.flow_slug = p_flow_slug;
    perform pgmq.create(s.queue_name) from pgflow.steps s
    where s.flow_slug = p_flow_slug and pgflow._assert_step_queue_available(p_flow_slug, s.queue_name);
  end if;
end
$$;

create or replace function pgflow.delete_flow_and_data(p_flow_slug text)
returns void
language plpgsql
set search_path = ''
as $$
begin
  perform pgmq.drop_queue(pgflow._listed_queue_name(q.queue_name))
  from (select lower(f.flow_slug) as queue_name from pgflow.flows f where f.flow_slug = p_flow_slug and f.queue_mode = 'flow'
        union
        select s.queue_name from pgflow.steps s where s.flow_slug = p_flow_slug) q
  where pgflow._listed_queue_name(q.queue_name) is not null;
  delete from pgflow.step_tasks t where t.flow_slug = p_flow_slug;
  delete from pgflow.step_states s where s.flow_slug = p_flow_slug;
  delete from pgflow.runs r where r.flow_slug = p_flow_slug;
  delete from pgflow.deps d where d.flow_slug = p_flow_slug;
  delete from pgflow.steps s where s.flow_slug = p_flow_slug;
  delete from pgflow.flows f where f.flow_slug = p_flow_slug;
end
$$;

drop function pgflow.ensure_flow_compiled(text, jsonb);
create function pgflow.ensure_flow_compiled(flow_slug text, shape jsonb, queue_mode text default 'flow',
                                            route_map jsonb default null)
returns jsonb
language plpgsql
set search_path = ''
as $$
declare
  differences text[];
begin
  perform pg_advisory_xact_lock(1, hashtext(lower(ensure_flow_compiled.flow_slug)));
  if route_map is distinct from coalesce(pgflow._derive_queue_routes(ensure_flow_compiled.flow_slug, shape, queue_mode), '[]')
     and route_map is not null then
    return '{"status": "mismatch", "mismatchKind": "routing", "differences": ["The routes differ"]}';
  end if;
  if not exists (select from pgflow.flows f where f.flow_slug = ensure_flow_compiled.flow_slug) then
    perform pgflow._create_flow_from_shape(ensure_flow_compiled.flow_slug, shape, queue_mode);
    return '{"status": "compiled", "mismatchKind": null, "differences": []}';
  end if;
  differences := pgflow._compare_flow_shapes(shape, pgflow._get_flow_shape(ensure_flow_compiled.flow_slug));
  if cardinality(differences) = 0 and exists (
       select from pgflow.flows f
       where f.flow_slug = ensure_flow_compiled.flow_slug and f.queue_mode <> ensure_flow_compiled.queue_mode) then
    return '{"status": "mismatch", "mismatchKind": "routing", "differences": ["The queue mode differs"]}';
  elsif cardinality(differences) = 0 then
    return '{"status": "verified", "mismatchKind": null, "differences": []}';
  elsif pgflow.is_local() then
    perform pgflow.delete_flow_and_data(ensure_flow_compiled.flow_slug);
    perform pgflow._create_flow_from_shape(ensure_flow_compiled.flow_slug, shape, queue_mode);
    return jsonb_build_object('status', 'recompiled', 'mismatchKind', null, 'differences', to_jsonb(differences));
  end if;
  return jsonb_build_object('status', 'mismatch', 'mismatchKind', 'shape', 'differences', to_jsonb(differences));
end
$$;
