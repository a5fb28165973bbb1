-- The concrete flow that a start goes to (aliases first, then concrete slugs), and what its steps ask of a start.
--
-- Takes the flow's row `for key share`, so that a start and a retirement or deletion never cross. The alias is read
-- without a lock: between that read and the row lock the flow may have been retired and the alias switched. A
-- resolved flow that turns out retired or gone is therefore resolved once more, until the answer stays the same.
-- All of it is one statement, so alias and steps are those of one moment. When that statement waits for the row it
-- goes on with the steps as they were before: add_step lets starts go on anyway, and a flow that was deleted and
-- compiled anew meanwhile has another row, hence is resolved once more.
-- A version that is named by its own slug while its alias has another active one may be too old for the workers that
-- are there: _check_direct_start. active is null for a start by the alias, or of a plain flow.
-- Errors: undefined_object (unknown name), object_not_in_prerequisite_state (retired, or an older version that a
-- worker lacks).
create function pgflow._resolve_flow(name text)
returns pgflow._plan
language plpgsql
set search_path = ''
as $$
declare
  target text;
  tried text;
  plan pgflow._plan;
  active text;
  retired_at timestamptz;
begin
  loop
    select f.flow_slug, d.steps, d.is_plain, f.retired_at,
           (select a.active_flow_slug from pgflow.flow_aliases a where a.alias = f.alias and f.alias <> name)
    into plan.flow_slug, plan.steps, plan.is_plain, retired_at, active
    from pgflow.flows f
    cross join lateral (
      select coalesce(array_agg(row(s.step_slug, s.step_type, s.deps_count, k.starts, s.queue_name,
                                    coalesce(s.opt_start_delay, 0))::pgflow._plan_step order by s.step_index), '{}') as steps,
             coalesce(bool_and(s.deps_count > 0 or k.starts), true) as is_plain
      from pgflow.steps s
      cross join lateral (
        select s.deps_count = 0 and s.step_type = 'single'
                 and s.required_input_pattern is null and s.forbidden_input_pattern is null as starts
      ) k
      where s.flow_slug = f.flow_slug
    ) d
    where f.flow_slug = coalesce((select a.active_flow_slug from pgflow.flow_aliases a where a.alias = name), name)
    for key share of f;
    if found and retired_at is null then
      if active <> plan.flow_slug then
        perform pgflow._check_direct_start(plan.flow_slug, active);
      end if;
      return plan;
    end if;

    target := coalesce((select a.active_flow_slug from pgflow.flow_aliases a where a.alias = name), name);
    exit when target is not distinct from tried;
    tried := target;
  end loop;

  if plan.flow_slug is null then
    raise exception 'there is no flow and no alias "%"', name
      using errcode = 'undefined_object',
            hint = 'The table pgflow.flows lists the flows; names are case sensitive.';
  elsif plan.flow_slug = name then
    raise exception 'flow "%" is retired and takes no new runs', name
      using errcode = 'object_not_in_prerequisite_state',
            hint = format('Start its alias or a newer version, or bring it back: select pgflow.unretire_flow(%L)', name);
  end if;
  raise exception 'alias "%" points at flow "%", which is retired and takes no new runs', name, plan.flow_slug
    using errcode = 'object_not_in_prerequisite_state',
          hint = 'Activate another version of the alias (pgflow.activate_flow), or bring this one back (pgflow.unretire_flow).';
end
$$;
