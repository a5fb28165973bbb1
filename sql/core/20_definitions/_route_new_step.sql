-- The queue of a new step, provisioned. A queue name other than the flow's own
-- makes the flow routed: from then on its default queue is one route of several.
-- Locks: the flow row is locked by the caller.
-- Errors: 22023 a routed flow without default queue wants a name; as _provision_queues.
create function pgflow._route_new_step(flow pgflow.flows, step_slug text, queue_name text)
returns text
language plpgsql
set search_path = ''
as $$
declare
  default_queue text := lower(flow.flow_slug);
  private_queue text := pgflow._private_queue(
    flow.flow_slug, step_slug, (select count(*)::int from pgflow.steps s where s.flow_slug = flow.flow_slug));
  route text := lower(queue_name);
begin
  if flow.queue_mode = 'step' and coalesce(route, private_queue) = private_queue then
    perform pgflow._provision_queues(array[private_queue], 'step', flow.flow_slug);
    return private_queue;
  end if;
  if coalesce(route, default_queue) = default_queue
     and exists (select from pgflow.queues q
                 where q.queue_name = default_queue and q.owner_flow_slug = flow.flow_slug) then
    perform pgflow._provision_queues(array[default_queue], 'flow', flow.flow_slug);
    return default_queue;
  end if;
  if route is null then
    raise exception 'step "%" of routed flow "%" names no queue', step_slug, flow.flow_slug
      using errcode = 'invalid_parameter_value', hint = 'Give queue_name.';
  end if;

  perform pgflow._provision_queues(array[route], 'shared', flow.flow_slug);
  update pgflow.flows f set queue_mode = 'routed'
  where f.flow_slug = flow.flow_slug and f.queue_mode <> 'routed';
  return route;
end
$$;
