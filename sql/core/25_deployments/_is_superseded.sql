-- Whether a version may no longer become active by an offer: it was active before,
-- or it was compiled before the active version, or before an operator's last
-- switch. Switches of a deleted namesake are older than its creation.
create function pgflow._is_superseded(flow pgflow.flows, active_flow_slug text)
returns boolean
language sql
stable
set search_path = ''
as $$
  select exists (
      select from pgflow.alias_switches s
      where s.alias = flow.alias
        and s.at >= flow.created_at
        and (s.to_flow_slug = flow.flow_slug or s.worker_id is null))
    or exists (
      select from pgflow.flows f
      where f.flow_slug = active_flow_slug and f.created_at > flow.created_at)
$$;
