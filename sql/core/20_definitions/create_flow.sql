-- Defines a plain flow, which is its own alias, active at once, with its default
-- queue lower(flow_slug). Idempotent: an existing flow is returned as it is,
-- options included. Null options take 3 attempts, 5 s and 60 s.
-- Locks: the name.
-- Errors: 22023 invalid slug, option or queue name; 42710 name taken; 55000 queue.
create function pgflow.create_flow(
  flow_slug text,
  max_attempts int default null,
  base_delay int default null,
  timeout int default null
)
returns pgflow.flows
language plpgsql
set search_path = ''
as $$
declare
  flow pgflow.flows := pgflow._lock_flow(flow_slug);
begin
  if flow.flow_slug is not null then
    return flow;
  end if;

  flow := pgflow._insert_flow(flow_slug, flow_slug, 'flow', max_attempts, base_delay, timeout);
  perform pgflow._provision_queues(array[flow_slug], 'flow', flow_slug);
  perform pgflow._switch_alias(flow_slug, flow_slug);
  return flow;
end
$$;
