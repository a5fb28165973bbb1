-- Raises 22023 when a value of a step is not valid by itself, whatever flow it is in.
create function pgflow._check_step(step pgflow.steps, deps_slugs text[])
returns void
language plpgsql
immutable
set search_path = ''
as $$
declare
  thing text := format('step "%s" of flow "%s"', step.step_slug, step.flow_slug);
  bad record;
begin
  select v.* into bad
  from (values
    (pgflow.is_valid_slug(step.step_slug), 'the slug', step.step_slug,
     'Use 1 to 128 letters, digits and _, not starting with a digit; "run" is reserved.'),
    (step.step_type in ('single', 'map'), 'step_type', step.step_type, 'Use single or map.'),
    (step.when_unmet in ('fail', 'skip', 'skip-cascade'), 'when_unmet', step.when_unmet,
     'Use fail, skip or skip-cascade.'),
    (step.when_exhausted in ('fail', 'skip', 'skip-cascade'), 'when_exhausted', step.when_exhausted,
     'Use fail, skip or skip-cascade.'),
    (coalesce(jsonb_typeof(step.required_input_pattern), 'object') = 'object', 'required_input_pattern',
     left(step.required_input_pattern::text, 80), 'Use a JSON object.'),
    (coalesce(jsonb_typeof(step.forbidden_input_pattern), 'object') = 'object', 'forbidden_input_pattern',
     left(step.forbidden_input_pattern::text, 80), 'Use a JSON object.'),
    (step.step_type <> 'map' or cardinality(deps_slugs) <= 1, 'deps_slugs of a map step', deps_slugs::text,
     'A map step has at most one dependency: the one whose array it maps.')
  ) as v (is_good, name, given, remedy)
  where v.is_good is not true
  limit 1;

  if found then
    raise exception '%: % is not valid: %', thing, bad.name, coalesce(bad.given, '(null)')
      using errcode = 'invalid_parameter_value', hint = bad.remedy;
  end if;
  perform pgflow._check_options(thing, step.opt_max_attempts, step.opt_base_delay, step.opt_timeout,
                                step.opt_start_delay);
end
$$;
