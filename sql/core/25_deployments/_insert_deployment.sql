-- Writes a new concrete flow from a checked deployment: flow, queues of its
-- routes, steps, dependencies; a statement each. The caller holds the locks of
-- alias and slug and knows that the slug is free.
-- Errors: as _insert_flow and _provision_queues.
create function pgflow._insert_deployment(deployment jsonb, adopt text[] default '{}')
returns pgflow.flows
language plpgsql
set search_path = ''
as $$
declare
  flow pgflow.flows;
begin
  flow := pgflow._insert_flow(
    deployment ->> 'flowSlug',
    coalesce(deployment ->> 'alias', deployment ->> 'flowSlug'),
    coalesce(deployment ->> 'queueMode', 'flow'),
    (deployment -> 'options' ->> 'maxAttempts')::numeric::int,
    (deployment -> 'options' ->> 'baseDelay')::numeric::int,
    (deployment -> 'options' ->> 'timeout')::numeric::int);
  perform pgflow._note_compiled(flow.flow_slug);

  perform pgflow._provision_queues(
    case flow.queue_mode
      when 'flow' then array[flow.flow_slug]
      else array(select s.queue_name from pgflow._deployment_steps(deployment) as s)
    end,
    case flow.queue_mode when 'routed' then 'shared' else flow.queue_mode end,
    flow.flow_slug,
    adopt);

  insert into pgflow.steps (
    flow_slug, step_slug, step_type, step_index, deps_count, queue_name, opt_max_attempts, opt_base_delay,
    opt_timeout, opt_start_delay, required_input_pattern, forbidden_input_pattern, when_unmet, when_exhausted,
    wants_flow_input, contract)
  select flow.flow_slug, s.step_slug, s.step_type, s.step_index, cardinality(s.dependencies), s.queue_name,
         s.max_attempts, s.base_delay, s.timeout, s.start_delay, s.required_input_pattern,
         s.forbidden_input_pattern, s.when_unmet, s.when_exhausted, s.wants_flow_input, s.contract
  from pgflow._deployment_steps(deployment) as s;

  insert into pgflow.deps (flow_slug, dep_slug, step_slug)
  select flow.flow_slug, d.slug, s.step_slug
  from pgflow._deployment_steps(deployment) as s
  cross join unnest(s.dependencies) as d (slug);

  return flow;
end
$$;
