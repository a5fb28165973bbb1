-- Moves an alias off the flow that is about to be deleted: back to the previous
-- version if that exists and is in service, else the alias goes. Nothing when
-- another version is active.
-- The caller holds the alias lock.
create function pgflow._leave_alias(flow pgflow.flows)
returns void
language plpgsql
set search_path = ''
as $$
declare
  active pgflow.flow_aliases;
  successor text;
begin
  select a.* into active
  from pgflow.flow_aliases a
  where a.alias = flow.alias and a.active_flow_slug = flow.flow_slug;
  if not found then
    return;
  end if;

  select f.flow_slug into successor
  from pgflow.flows f
  where f.flow_slug = active.previous_flow_slug
    and f.alias = flow.alias
    and f.flow_slug <> flow.flow_slug
    and f.retired_at is null;
  perform pgflow._switch_alias(flow.alias, successor);
end
$$;
