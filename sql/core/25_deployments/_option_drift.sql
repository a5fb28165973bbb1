-- How the options of a deployment differ from the stored ones, as readable lines.
-- They may differ: the stored ones hold until apply_flow_options. A missing flow
-- option means its default; a missing wantsFlowInput (shapes of existing clients
-- have none) means the stored one.
create function pgflow._option_drift(flow pgflow.flows, deployment jsonb)
returns text[]
language sql
stable
set search_path = ''
as $$
  with given as (
    select d.*, deployment -> 'steps' -> d.step_index ? 'wantsFlowInput' as says_flow_input
    from pgflow._deployment_steps(deployment) as d
  ),
  options (position, line) as (
    select -1, format('%s of the flow: %s in the database, %s in the deployment', o.name, o.stored, o.given)
    from (values
      ('maxAttempts', flow.opt_max_attempts, coalesce((deployment -> 'options' ->> 'maxAttempts')::numeric::int, 3)),
      ('baseDelay', flow.opt_base_delay, coalesce((deployment -> 'options' ->> 'baseDelay')::numeric::int, 5)),
      ('timeout', flow.opt_timeout, coalesce((deployment -> 'options' ->> 'timeout')::numeric::int, 60))
    ) as o (name, stored, given)
    where o.stored <> o.given
    union all
    select s.step_index, o.line
    from pgflow.steps s
    join given g on g.step_slug = s.step_slug
    cross join lateral (values
      (pgflow._difference('maxAttempts', s.step_slug, g.step_slug, s.opt_max_attempts::text, g.max_attempts::text)),
      (pgflow._difference('baseDelay', s.step_slug, g.step_slug, s.opt_base_delay::text, g.base_delay::text)),
      (pgflow._difference('timeout', s.step_slug, g.step_slug, s.opt_timeout::text, g.timeout::text)),
      (pgflow._difference('startDelay', s.step_slug, g.step_slug, s.opt_start_delay::text, g.start_delay::text)),
      (pgflow._difference('wantsFlowInput', s.step_slug, g.step_slug, s.wants_flow_input::text,
         case when g.says_flow_input then g.wants_flow_input else s.wants_flow_input end::text))
    ) as o (line)
    where s.flow_slug = flow.flow_slug and o.line is not null
  )
  select coalesce(array_agg(o.line order by o.position), '{}') from options o
$$;
