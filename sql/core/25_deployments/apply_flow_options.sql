-- Makes the options of a module the stored ones, for claims from then on; running
-- attempts keep what they were given. shape: the shape or the whole deployment, of
-- the same structure. Returns what changed, as readable lines.
-- Locks: alias, slug, the rows of flow and steps.
-- Errors: 42704 unknown flow; 22023 bad shape; 55000 another structure.
create function pgflow.apply_flow_options(flow_slug text, shape jsonb)
returns text[]
language plpgsql
set search_path = ''
as $$
declare
  flow pgflow.flows := pgflow._require_flow(flow_slug);
  drift text[] := pgflow.flow_option_drift(flow.flow_slug, shape);
  deployment jsonb := pgflow._plain_deployment(flow_slug, shape);
begin
  update pgflow.flows f
  set opt_max_attempts = coalesce((deployment -> 'options' ->> 'maxAttempts')::numeric::int, 3),
      opt_base_delay = coalesce((deployment -> 'options' ->> 'baseDelay')::numeric::int, 5),
      opt_timeout = coalesce((deployment -> 'options' ->> 'timeout')::numeric::int, 60)
  where f.flow_slug = apply_flow_options.flow_slug;

  update pgflow.steps s
  set opt_max_attempts = d.max_attempts,
      opt_base_delay = d.base_delay,
      opt_timeout = d.timeout,
      opt_start_delay = d.start_delay,
      wants_flow_input = case when deployment -> 'steps' -> d.step_index ? 'wantsFlowInput'
                           then d.wants_flow_input else s.wants_flow_input end
  from pgflow._deployment_steps(deployment) as d
  where s.flow_slug = apply_flow_options.flow_slug and s.step_slug = d.step_slug;
  return drift;
end
$$;
