-- The concrete flow that a start goes to: aliases first, then concrete slugs.
--
-- Takes the flow's row `for key share`, so that a start and a retirement or deletion never cross. The alias is read
-- without a lock: between that read and the row lock the flow may have been retired and the alias switched. A
-- resolved flow that turns out retired or gone is therefore resolved once more, until the answer stays the same.
-- Errors: undefined_object (unknown name), object_not_in_prerequisite_state (retired). Callers: _start_runs.
create function pgflow._resolve_flow(name text)
returns pgflow.flows
language plpgsql
set search_path = ''
as $$
declare
  target text;
  tried text;
  flow pgflow.flows;
begin
  loop
    target := coalesce((select a.active_flow_slug from pgflow.flow_aliases a where a.alias = name), name);
    exit when target is not distinct from tried;

    select f.* into flow from pgflow.flows f where f.flow_slug = target for key share;
    if found and flow.retired_at is null then
      return flow;
    end if;
    tried := target;
  end loop;

  if flow.flow_slug is null then
    raise exception 'there is no flow and no alias "%"', name
      using errcode = 'undefined_object',
            hint = 'The table pgflow.flows lists the flows; names are case sensitive.';
  elsif flow.flow_slug = name then
    raise exception 'flow "%" is retired and takes no new runs', name
      using errcode = 'object_not_in_prerequisite_state',
            hint = format('Start its alias or a newer version, or bring it back: select pgflow.unretire_flow(%L)', name);
  end if;
  raise exception 'alias "%" points at flow "%", which is retired and takes no new runs', name, flow.flow_slug
    using errcode = 'object_not_in_prerequisite_state',
          hint = 'Activate another version of the alias (pgflow.activate_flow), or bring this one back (pgflow.unretire_flow).';
end
$$;
