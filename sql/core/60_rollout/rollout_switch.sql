-- Step 8 of a rollout: activate_flow for each alias whose new version the deployment brings,
-- where that is still to be done; what was switched, in the order of the aliases.
-- Locks and errors: those of activate_flow; 42704 unknown deployment; 55000 with what an
-- earlier step waits for.
create function pgflow.rollout_switch(deployment text)
returns table (alias text, from_flow_slug text, to_flow_slug text)
language plpgsql
set search_path = ''
as $$
#variable_conflict use_column
begin
  if pgflow._await_step(deployment, 'switch') then
    return;
  end if;
  for alias, from_flow_slug, to_flow_slug in
    select o.alias, o.active_flow_slug, o.flow_slug
    from pgflow._offered_versions(pgflow._find_manifest(deployment)) as o
    order by o.alias
  loop
    perform pgflow.activate_flow(rollout_switch.alias, rollout_switch.to_flow_slug);
    return next;
  end loop;
end
$$;
