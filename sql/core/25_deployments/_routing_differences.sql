-- How the queues of a deployment differ from those of the stored flow, as readable lines: queue mode, then routes.
-- Locks: none.
create function pgflow._routing_differences(flow pgflow.flows, deployment jsonb)
returns text[]
language sql
stable
set search_path = ''
as $$
  select coalesce(array_agg(x.line order by x.position), '{}')
  from (
    select -1 as position, format('queueMode: %s in the database, %s in the deployment',
                                  flow.queue_mode, coalesce(deployment ->> 'queueMode', 'flow')) as line
    where flow.queue_mode <> coalesce(deployment ->> 'queueMode', 'flow')
    union all
    select s.step_index, pgflow._difference('route', s.step_slug, d.step_slug, s.queue_name, d.queue_name)
    from pgflow.steps s
    join pgflow._deployment_steps(deployment) as d on d.step_slug = s.step_slug
    where s.flow_slug = flow.flow_slug
  ) x
  where x.line is not null
$$;
