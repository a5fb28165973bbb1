-- Activates a version when its alias has no active one, and says how it stands:
-- activated (by this call), active, or inactive. A retired version is never made
-- active, and counts as inactive where it still is its own alias. may_switch false:
-- only says.
-- The caller holds the alias lock.
create function pgflow._activate_first(flow pgflow.flows, may_switch boolean default true)
returns text
language plpgsql
set search_path = ''
as $$
declare
  active text;
begin
  if flow.retired_at is not null then
    return 'inactive';
  end if;

  select a.active_flow_slug into active from pgflow.flow_aliases a where a.alias = flow.alias;
  if active is null and may_switch then
    perform pgflow._switch_alias(flow.alias, flow.flow_slug);
    return 'activated';
  end if;
  return case when active = flow.flow_slug then 'active' else 'inactive' end;
end
$$;
