-- How a deployment differs from the stored flow, as readable lines: the shape,
-- then alias, queue mode, routes and contracts, which are as immutable. Options
-- are not compared here (_option_drift).
create function pgflow._deployment_differences(flow pgflow.flows, deployment jsonb)
returns text[]
language sql
stable
set search_path = ''
as $$
  with fixed (position, line) as (
    select -2, case when flow.alias <> coalesce(deployment ->> 'alias', flow.flow_slug) then
      format('alias: "%s" in the database, "%s" in the deployment',
             flow.alias, coalesce(deployment ->> 'alias', flow.flow_slug)) end
    union all
    select -1, case when flow.queue_mode <> coalesce(deployment ->> 'queueMode', 'flow') then
      format('queueMode: %s in the database, %s in the deployment',
             flow.queue_mode, coalesce(deployment ->> 'queueMode', 'flow')) end
    union all
    select s.step_index, p.line
    from pgflow.steps s
    join pgflow._deployment_steps(deployment) as d on d.step_slug = s.step_slug
    cross join lateral (values
      (pgflow._difference('route', s.step_slug, d.step_slug, s.queue_name, d.queue_name)),
      (pgflow._difference('contract', s.step_slug, d.step_slug, s.contract, d.contract))
    ) as p (line)
    where s.flow_slug = flow.flow_slug
  )
  select pgflow._compare_flow_shapes(deployment, pgflow._get_flow_shape(flow.flow_slug))
    || coalesce((select array_agg(f.line order by f.position) from fixed f where f.line is not null), '{}')
$$;
