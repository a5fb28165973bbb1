-- How a host switches an alias: a host offers its last-given version of an alias,
-- after registering and at heartbeats while the answer is waiting. One row:
--
-- activation   activated: this call switched; active: it was; waiting: not yet
--              (queues, and reasons in parallel say why: the coverage test does not
--              pass, or the alias has an active version and the host's login is no
--              operator, so that an operator must activate); superseded: this version
--              never takes new runs by itself again
-- active_flow_slug   after the call; null: the alias has no active version
--
-- Superseded when retired, when it was active before, or when it is older than the
-- active version or than the last switch that an operator made: so a restarted old
-- host takes nothing back. A namesake that was deleted does not count, and an alias
-- without active version takes whoever is covered, as ensure_deployment does.
-- Locks: alias, slug, the flow row for share. Errors: 42704 unknown flow.
create function pgflow.offer_activation(
  flow_slug text,
  worker_id uuid,
  out activation text,
  out active_flow_slug text,
  out queues text[],
  out reasons text[]
)
language plpgsql
set search_path = ''
as $$
declare
  flow pgflow.flows := pgflow._lock_target(flow_slug);
begin
  select a.active_flow_slug into active_flow_slug from pgflow.flow_aliases a where a.alias = flow.alias;

  if flow.retired_at is not null then
    activation := 'superseded';
  elsif active_flow_slug = flow_slug then
    activation := 'active';
  elsif active_flow_slug is not null and pgflow._is_superseded(flow, active_flow_slug) then
    activation := 'superseded';
  else
    select array_agg(g.queue_name), array_agg(g.reason) into queues, reasons
    from (
      select o.queue_name, o.reason from pgflow._offer_gaps(flow_slug, worker_id) as o
      union all
      select o.queue_name, o.reason
      from pgflow._operator_gap(flow, worker_id) as o
      where active_flow_slug is not null
    ) as g;
    activation := case when queues is null then 'activated' else 'waiting' end;
  end if;

  if activation = 'activated' then
    perform pgflow._switch_alias(flow.alias, flow_slug, worker_id);
    active_flow_slug := flow_slug;
  end if;
  queues := coalesce(queues, '{}');
  reasons := coalesce(reasons, '{}');
end
$$;
