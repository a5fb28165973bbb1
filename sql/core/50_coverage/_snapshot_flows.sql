-- The flows of a snapshot: [{deployment, in_service, active, superseded}], by slug.
-- superseded: it no longer becomes active by an offer.
create function pgflow._snapshot_flows()
returns jsonb
language sql
stable
set search_path = ''
as $$
  select coalesce(jsonb_agg(jsonb_build_object(
      'deployment', pgflow._stored_deployment(f.flow_slug),
      'in_service', f.retired_at is null,
      'active', a.active_flow_slug is not distinct from f.flow_slug,
      'superseded', f.retired_at is not null
        or a.active_flow_slug <> f.flow_slug and pgflow._is_superseded(f, a.active_flow_slug))
    order by f.flow_slug), '[]')
  from pgflow.flows f
  left join pgflow.flow_aliases a on a.alias = f.alias
$$;
