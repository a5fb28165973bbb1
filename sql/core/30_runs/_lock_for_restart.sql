-- Takes a flow for a restart of runs on this very version and returns why it takes none: it is retired, or it is older
-- than the active version of its alias and a live worker lacks a step of it (_check_direct_start). Null: it does.
-- Locks: the flow's row for key share. Errors: none.
create function pgflow._lock_for_restart(flow_slug text)
returns text
language plpgsql
set search_path = ''
as $$
declare
  flow pgflow.flows;
  active text;
begin
  select f.* into flow from pgflow.flows f where f.flow_slug = _lock_for_restart.flow_slug for key share;
  if flow.retired_at is not null then
    return format('flow "%s" is retired and takes no new runs; name another version with onto, or bring it back: '
                  'select pgflow.unretire_flow(%L)', flow_slug, flow_slug);
  end if;

  select a.active_flow_slug into active from pgflow.flow_aliases a where a.alias = flow.alias;
  if active <> flow_slug then
    perform pgflow._check_direct_start(flow_slug, active);
  end if;
  return null;
exception when object_not_in_prerequisite_state then
  return sqlerrm;
end
$$;
