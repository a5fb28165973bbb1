-- A stored flow as the document of a deployment, as the host's reader of modules prints it
-- (docs/internals/descriptor.md): what ensure_deployment would verify without a difference.
-- Every step says its queue, whatever the queue mode; a routed flow has its routes too.
-- Null: there is no such flow.
create function pgflow._stored_deployment(flow_slug text)
returns jsonb
language sql
stable
set search_path = ''
-- planner: keys
as $$
  select jsonb_build_object(
    'flowSlug', f.flow_slug,
    'alias', f.alias,
    'queueMode', f.queue_mode,
    'options', jsonb_build_object(
      'maxAttempts', f.opt_max_attempts, 'baseDelay', f.opt_base_delay, 'timeout', f.opt_timeout),
    'routes', case f.queue_mode when 'routed' then s.routes else '{}' end,
    'steps', s.steps)
  from pgflow.flows f
  cross join lateral (
    select
      coalesce(jsonb_object_agg(s.step_slug, s.queue_name), '{}') as routes,
      coalesce(jsonb_agg(jsonb_build_object(
        'slug', s.step_slug,
        'stepType', s.step_type,
        'dependencies', coalesce((
          select jsonb_agg(d.dep_slug order by d.dep_slug collate "C")
          from pgflow.deps d
          where d.flow_slug = s.flow_slug and d.step_slug = s.step_slug), '[]'),
        'queue', s.queue_name,
        'whenUnmet', s.when_unmet,
        'whenExhausted', s.when_exhausted,
        'requiredInputPattern', case when s.required_input_pattern is null
          then jsonb_build_object('defined', false)
          else jsonb_build_object('defined', true, 'value', s.required_input_pattern) end,
        'forbiddenInputPattern', case when s.forbidden_input_pattern is null
          then jsonb_build_object('defined', false)
          else jsonb_build_object('defined', true, 'value', s.forbidden_input_pattern) end,
        'options', jsonb_strip_nulls(jsonb_build_object(
          'maxAttempts', s.opt_max_attempts, 'baseDelay', s.opt_base_delay,
          'timeout', s.opt_timeout, 'startDelay', s.opt_start_delay)),
        'contract', s.contract,
        'wantsFlowInput', s.wants_flow_input)
      order by s.step_index), '[]') as steps
    from pgflow.steps s
    where s.flow_slug = f.flow_slug
  ) as s
  where f.flow_slug = _stored_deployment.flow_slug
$$;
