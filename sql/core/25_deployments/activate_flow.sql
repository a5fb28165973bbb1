-- How an operator switches an alias: new starts of the alias go to this version from
-- now on; runs that started stay on theirs. Back to an older version is the same
-- call. Returns the alias row; the version that is active already changes nothing.
-- force: switch although the coverage test fails; tasks then wait for workers.
-- Locks: alias, slug, the flow row for share (against retirement).
-- Errors: 42704 unknown; 22023 not a version of the alias; 55000 retired, or not
--         covered: each queue and worker is named.
create function pgflow.activate_flow(alias text, flow_slug text, force boolean default false)
returns pgflow.flow_aliases
language plpgsql
set search_path = ''
as $$
declare
  flow pgflow.flows := pgflow._lock_target(flow_slug);
  active pgflow.flow_aliases;
  gaps text[];
begin
  if flow.alias is distinct from activate_flow.alias then
    raise exception 'flow "%" is a version of alias "%", not of "%"', flow_slug, flow.alias, alias
      using errcode = 'invalid_parameter_value', hint = 'An alias activates only its own versions.';
  end if;
  if flow.retired_at is not null then
    raise exception 'flow "%" is retired since %', flow_slug, flow.retired_at
      using errcode = 'object_not_in_prerequisite_state',
            hint = format('select pgflow.unretire_flow(%L) takes it back into service.', flow_slug);
  end if;

  select a.* into active from pgflow.flow_aliases a where a.alias = activate_flow.alias;
  if active.active_flow_slug = flow_slug then
    return active;
  end if;

  gaps := array(select g.reason from pgflow._switch_gaps(flow_slug) as g);
  if not coalesce(force, false) then
    perform pgflow._raise_problems(
      format('alias "%s" cannot switch to flow "%s"', alias, flow_slug), gaps, 'object_not_in_prerequisite_state',
      'Start or repair those workers, or force the switch: tasks then wait for workers.');
  end if;

  perform pgflow._switch_alias(flow.alias, flow_slug, forced => gaps <> '{}');
  select a.* into active from pgflow.flow_aliases a where a.alias = activate_flow.alias;
  return active;
end
$$;
