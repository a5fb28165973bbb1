-- The stored structure of a flow: {"steps": [{slug, stepType, dependencies,
-- whenUnmet, whenExhausted, requiredInputPattern, forbiddenInputPattern}]}, steps
-- in order, dependencies sorted. No options: they are not structure. A flow that
-- does not exist has no steps.
create function pgflow._get_flow_shape(flow_slug text)
returns jsonb
language sql
stable
set search_path = ''
as $$
  select jsonb_build_object('steps', coalesce(jsonb_agg(
    jsonb_build_object(
      'slug', s.step_slug,
      'stepType', s.step_type,
      'dependencies', coalesce((
        select jsonb_agg(d.dep_slug order by d.dep_slug collate "C")
        from pgflow.deps d
        where d.flow_slug = s.flow_slug and d.step_slug = s.step_slug), '[]'),
      'whenUnmet', s.when_unmet,
      'whenExhausted', s.when_exhausted,
      'requiredInputPattern', case when s.required_input_pattern is null
        then jsonb_build_object('defined', false)
        else jsonb_build_object('defined', true, 'value', s.required_input_pattern) end,
      'forbiddenInputPattern', case when s.forbidden_input_pattern is null
        then jsonb_build_object('defined', false)
        else jsonb_build_object('defined', true, 'value', s.forbidden_input_pattern) end)
    order by s.step_index), '[]'))
  from pgflow.steps s
  where s.flow_slug = _get_flow_shape.flow_slug
$$;
