-- Points an alias at one of its versions and records the switch; to_flow_slug
-- null takes the alias away. The only writer of flow_aliases and alias_switches.
-- worker_id: the host that offered; null for an operator or a definition.
-- The caller holds the alias lock and has made every test.
create function pgflow._switch_alias(
  alias text,
  to_flow_slug text,
  worker_id uuid default null,
  forced boolean default false
)
returns void
language plpgsql
set search_path = ''
as $$
declare
  from_flow_slug text;
  switched_at timestamptz := greatest(clock_timestamp(), pgflow._alias_clock(alias));
begin
  select a.active_flow_slug into from_flow_slug
  from pgflow.flow_aliases a
  where a.alias = _switch_alias.alias;

  if to_flow_slug is null then
    delete from pgflow.flow_aliases a where a.alias = _switch_alias.alias;
  else
    insert into pgflow.flow_aliases as a (alias, active_flow_slug, activated_at)
    values (_switch_alias.alias, _switch_alias.to_flow_slug, switched_at)
    on conflict on constraint flow_aliases_pkey do update
    set active_flow_slug = excluded.active_flow_slug,
        previous_flow_slug = a.active_flow_slug,
        activated_at = excluded.activated_at;
  end if;

  insert into pgflow.alias_switches (alias, from_flow_slug, to_flow_slug, at, by, worker_id, forced)
  values (_switch_alias.alias, from_flow_slug, _switch_alias.to_flow_slug, switched_at,
          session_user, _switch_alias.worker_id, _switch_alias.forced);

  -- Hosts whose offer waits hear how it was decided.
  perform pgflow._tell_hosts(array(
    select distinct w.function_name
    from pgflow.flows f
    join pgflow.worker_task_pairs p on p.flow_slug = f.flow_slug
    join pgflow.workers w on w.worker_id = p.worker_id
    where f.alias = _switch_alias.alias and w.stopped_at is null));
end
$$;
