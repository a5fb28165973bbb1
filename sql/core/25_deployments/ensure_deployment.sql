-- Compiles or verifies one concrete version, and activates it if its alias has no
-- active version yet; its tasks then wait durably for workers. What a host calls
-- for each of its modules; hosts that start at once converge.
--
-- deployment   the shape, plus flowSlug, alias (default: the slug), queueMode, routes
--              {step: queue}, and per step contract and wantsFlowInput
-- adopt        existing PGMQ queues that may be taken over as shared
-- Returns {compilation: compiled | verified | recompiled | mismatch, activation:
-- activated | active | inactive, alias, activeFlowSlug, queueMode, differences:
-- [text], optionDrift: [text]}. Shape, alias, routes and contracts never change: a
-- mismatch changes nothing (is_local(): deleted and compiled anew) and carries hint.
-- Locks: alias, then slug; queues by name. Errors: 22023 not valid; 42710 name
-- taken; 55000 queue; 40001 repeat.
create function pgflow.ensure_deployment(deployment jsonb, adopt text[] default '{}')
returns jsonb
language plpgsql
set search_path = ''
as $$
declare
  flow pgflow.flows;
  compilation text;
  activation text;
  differences text[] := '{}'::text[];
begin
  perform pgflow._check_deployment(deployment, true);
  flow := pgflow._lock_flow(
    deployment ->> 'flowSlug', coalesce(deployment ->> 'alias', deployment ->> 'flowSlug'));
  if flow.flow_slug is not null then
    differences := pgflow._deployment_differences(flow, deployment);
  end if;

  compilation := pgflow._compile(flow, deployment, differences, pgflow.is_local(), adopt);
  select f.* into flow from pgflow.flows f where f.flow_slug = deployment ->> 'flowSlug';
  activation := pgflow._activate_first(flow, compilation <> 'mismatch');

  return jsonb_build_object(
      'compilation', compilation,
      'activation', activation,
      'alias', flow.alias,
      'activeFlowSlug', (select a.active_flow_slug from pgflow.flow_aliases a where a.alias = flow.alias),
      'queueMode', flow.queue_mode,
      'differences', to_jsonb(differences),
      'optionDrift', case compilation
        when 'verified' then to_jsonb(pgflow._option_drift(flow, deployment))
        else '[]' end)
    || case compilation when 'mismatch' then jsonb_build_object(
         'hint', 'A compiled version never changes: use a new concrete slug, or delete the flow in development.')
       else '{}' end;
end
$$;
