-- Compiles a plain flow from its shape, or verifies the stored one. The calls of clients and workers of pgflow.
--
-- shape        {"steps": [{slug, stepType, dependencies, ...}], "options": {...}}
-- queue_mode   flow (one queue for the flow) or step (one a step); null is flow. A third argument without a type arrives
--              here too: 'true' and 'false' mean allow_data_loss of the other form
-- route_map    [{"stepSlug": ..., "queueName": ...}], every step in order: what the caller believes; null: not told
-- allow_data_loss   a flow that differs is deleted with its data and compiled anew, as in a development database
--
-- Answers {status, differences: [text], mismatchKind}. status: compiled, verified, recompiled, or mismatch: nothing was
-- changed; mismatchKind is then shape or routing, else null. A routed flow, which these callers cannot make, keeps its
-- alias, mode and routes; only a route_map is compared with them.
-- Locks: alias, slug; a recompile also as delete_flow_and_data.
-- Errors: 22023 bad shape, another queue_mode, a route_map that the mode does not give; 42710 name taken; 55000 queue.
create function pgflow.ensure_flow_compiled(
  flow_slug text,
  shape jsonb,
  queue_mode text default 'flow',
  route_map jsonb default null
)
returns jsonb
language plpgsql
set search_path = ''
as $$
declare
  mode text := lower(coalesce(queue_mode, 'flow'));
begin
  if mode in ('true', 'false') then
    return pgflow._ensure_client_flow(flow_slug, shape, null, route_map, mode::boolean);
  elsif mode not in ('flow', 'step') then
    raise exception 'queue_mode "%" of flow "%" is not valid', queue_mode, flow_slug
      using errcode = 'invalid_parameter_value',
            hint = 'Give flow or step; a flow whose steps name their queues is made by a host.';
  end if;
  return pgflow._ensure_client_flow(flow_slug, shape, mode, route_map, false);
end
$$;

create function pgflow.ensure_flow_compiled(flow_slug text, shape jsonb, allow_data_loss boolean)
returns jsonb
language plpgsql
set search_path = ''
as $$
begin
  return pgflow._ensure_client_flow(flow_slug, shape, null, null, coalesce(allow_data_loss, false));
end
$$;
