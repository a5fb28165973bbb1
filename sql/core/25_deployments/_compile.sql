-- Brings the stored flow and a checked deployment together and says how:
-- compiled     it was new and is written
-- verified     they agree; its queues are still there
-- recompiled   they differ and may_lose_data: flow and data deleted, written anew,
--              the alias kept where it stays the same
-- mismatch     they differ: nothing changed
-- The caller holds the locks of alias and slug. flow: as _lock_flow returned it.
-- Errors: as _insert_deployment; 55000 when a queue of a verified flow is gone.
create function pgflow._compile(
  flow pgflow.flows,
  deployment jsonb,
  differences text[],
  may_lose_data boolean,
  adopt text[] default '{}'
)
returns text
language plpgsql
set search_path = ''
as $$
begin
  if flow.flow_slug is null then
    perform pgflow._insert_deployment(deployment, adopt);
    return 'compiled';
  end if;

  if differences = '{}' then
    perform pgflow._check_known_queues(
      array(select s.queue_name from pgflow.steps s where s.flow_slug = flow.flow_slug),
      case flow.queue_mode when 'routed' then 'shared' else flow.queue_mode end,
      flow.flow_slug, '{}');
    perform pgflow._renew_queues(
      array(select s.queue_name from pgflow.steps s where s.flow_slug = flow.flow_slug));
    perform pgflow._watch_queues(
      array(select s.queue_name from pgflow.steps s where s.flow_slug = flow.flow_slug));
    perform pgflow._note_compiled(flow.flow_slug);
    return 'verified';
  end if;

  if not may_lose_data then
    return 'mismatch';
  end if;
  if flow.alias <> coalesce(deployment ->> 'alias', flow.flow_slug) then
    perform pgflow._leave_alias(flow);
  end if;
  perform pgflow._delete_flow(flow);
  perform pgflow._insert_deployment(deployment, adopt);
  return 'recompiled';
end
$$;
