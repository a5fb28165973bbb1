-- The steps of a deployment (or of a bare shape) as rows, defaults filled in and
-- routes resolved. Dependencies are sorted: they are a set. The deployment has
-- passed _check_deployment. queue_name is null for a shape without flowSlug.
-- Locks: none.
create function pgflow._deployment_steps(deployment jsonb)
returns table (
  step_index int,
  step_slug text,
  step_type text,
  dependencies text[],
  queue_name text,
  max_attempts int,
  base_delay int,
  timeout int,
  start_delay int,
  required_input_pattern jsonb,
  forbidden_input_pattern jsonb,
  when_unmet text,
  when_exhausted text,
  wants_flow_input boolean,
  contract text
)
language sql
immutable
set search_path = ''
as $$
  select
    (s.position - 1)::int,
    s.step ->> 'slug',
    coalesce(s.step ->> 'stepType', 'single'),
    coalesce((
      select array_agg(d.slug order by d.slug collate "C")
      from jsonb_array_elements_text(coalesce(nullif(s.step -> 'dependencies', 'null'), '[]')) as d (slug)), '{}'),
    lower(case deployment ->> 'queueMode'
      when 'step' then pgflow._private_queue(deployment ->> 'flowSlug', s.step ->> 'slug', (s.position - 1)::int)
      when 'routed' then deployment -> 'routes' ->> (s.step ->> 'slug')
      else deployment ->> 'flowSlug'
    end),
    (s.step -> 'options' ->> 'maxAttempts')::numeric::int,
    (s.step -> 'options' ->> 'baseDelay')::numeric::int,
    (s.step -> 'options' ->> 'timeout')::numeric::int,
    (s.step -> 'options' ->> 'startDelay')::numeric::int,
    case when (s.step -> 'requiredInputPattern' ->> 'defined')::boolean
      then s.step -> 'requiredInputPattern' -> 'value' end,
    case when (s.step -> 'forbiddenInputPattern' ->> 'defined')::boolean
      then s.step -> 'forbiddenInputPattern' -> 'value' end,
    coalesce(s.step ->> 'whenUnmet', 'skip'),
    coalesce(s.step ->> 'whenExhausted', 'fail'),
    coalesce((s.step ->> 'wantsFlowInput')::boolean, false),
    s.step ->> 'contract'
  from jsonb_array_elements(deployment -> 'steps') with ordinality as s (step, position)
  order by s.position
$$;
