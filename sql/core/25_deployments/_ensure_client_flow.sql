-- The work of ensure_flow_compiled in both its forms. queue_mode null: that of the stored flow, flow for a new one.
create function pgflow._ensure_client_flow(
  flow_slug text, shape jsonb, queue_mode text, route_map jsonb, allow_data_loss boolean)
returns jsonb
language plpgsql
set search_path = ''
as $$
declare
  flow pgflow.flows := pgflow._lock_flow(flow_slug);
  deployment jsonb := pgflow._plain_deployment(flow_slug, shape);
  differs text[] := '{}';
  misrouted text[] := '{}';
  status text;
begin
  if queue_mode is not null and flow.queue_mode is distinct from 'routed' then
    deployment := deployment || jsonb_build_object('queueMode', queue_mode);
  end if;
  perform pgflow._check_deployment(deployment, false);
  if flow.flow_slug is null then
    perform pgflow._check_new_slugs(deployment);
  end if;

  if flow.queue_mode = 'routed' then
    misrouted := pgflow._route_map_differences(deployment, route_map);
  elsif route_map is not null then
    perform pgflow._raise_problems(
      format('route_map of flow "%s" is not that of queue mode %s', flow_slug, deployment ->> 'queueMode'),
      pgflow._route_map_differences(deployment, route_map), 'invalid_parameter_value',
      'Give the routes that the mode gives, of every step in order, or null.');
  end if;
  if flow.flow_slug is not null then
    differs := pgflow._compare_flow_shapes(deployment, pgflow._get_flow_shape(flow_slug));
    misrouted := misrouted || pgflow._routing_differences(flow, deployment);
  end if;

  status := pgflow._compile(flow, deployment, differs || misrouted, pgflow.is_local() or allow_data_loss);
  if status in ('compiled', 'recompiled') then
    select f.* into flow from pgflow.flows f where f.flow_slug = _ensure_client_flow.flow_slug;
    perform pgflow._activate_first(flow);
  end if;
  return jsonb_build_object(
    'status', status,
    'differences', to_jsonb(differs || misrouted),
    'mismatchKind', case when status = 'mismatch' then case when differs = '{}' then 'routing' else 'shape' end end);
end
$$;
