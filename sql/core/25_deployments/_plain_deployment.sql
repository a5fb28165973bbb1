-- A bare shape as a deployment: that of a plain flow, or, when the flow exists,
-- one that keeps its alias, queue mode and routes; new steps of a routed flow go
-- to the queue named like the flow.
create function pgflow._plain_deployment(flow_slug text, shape jsonb)
returns jsonb
language sql
stable
set search_path = ''
as $$
  select jsonb_build_object(
      'options', shape -> 'options',
      'steps', shape -> 'steps',
      'flowSlug', _plain_deployment.flow_slug,
      'alias', coalesce(f.alias, _plain_deployment.flow_slug),
      'queueMode', coalesce(f.queue_mode, 'flow'))
    || case when f.queue_mode = 'routed' then jsonb_build_object('routes', (
         select jsonb_object_agg(g.step ->> 'slug', coalesce(s.queue_name, lower(f.flow_slug)))
         from jsonb_array_elements(
           case jsonb_typeof(shape -> 'steps') when 'array' then shape -> 'steps' else '[]' end) as g (step)
         left join pgflow.steps s on s.flow_slug = f.flow_slug and s.step_slug = g.step ->> 'slug'
         where g.step ->> 'slug' is not null))
       else '{}' end
  from (values (1)) as one (row)
  left join pgflow.flows f on f.flow_slug = _plain_deployment.flow_slug
$$;
