-- The versions that a rollout brings and new starts do not go to yet: the newest in service of
-- its alias, with a step that the manifest's functions serve, newer than the active version.
-- Locks: none.
create function pgflow._offered_versions(loaded pgflow.deployment_manifest)
returns table (alias text, flow_slug text, active_flow_slug text)
language sql
stable
set search_path = ''
as $$
  select distinct f.alias, f.flow_slug, a.active_flow_slug
  from pgflow._expected_pairs(loaded.deployment) as x
  join pgflow.flows f on f.flow_slug = x.flow_slug
  left join pgflow.flow_aliases a on a.alias = f.alias
  left join pgflow.flows active on active.flow_slug = a.active_flow_slug
  where a.active_flow_slug is distinct from f.flow_slug
    and coalesce(active.created_at < f.created_at, true)
    and not exists (
      select from pgflow.flows n where n.alias = f.alias and n.retired_at is null and n.created_at > f.created_at)
$$;
