-- Starts one run per input, all of the same flow, under the given ids. The work of every start_flow* function.
--
-- The definition is read once: a step that is being added meanwhile is in runs and states, or in neither. Plain root
-- steps (single, no condition) are inserted as started. A single run of a flow that has no others needs nothing but
-- their tasks; the rest is for _advance.
-- Locks: the flow's row for key share. Errors: those of _resolve_flow; unknown input; a root map without an array.
create function pgflow._start_runs(name text, run_ids uuid[], inputs jsonb[])
returns void
language plpgsql
set search_path = ''
as $$
declare
  plan pgflow._plan := pgflow._resolve_flow(name);
  steps int := cardinality(plan.steps);
  moment timestamptz := clock_timestamp();
  woken text[];
begin
  if not plan.is_plain or array_position(inputs, null) is not null then
    perform pgflow._check_inputs(plan, inputs);
  end if;

  insert into pgflow.runs (run_id, flow_slug, status, input, output, remaining_steps, started_at, completed_at)
  select r.run_id, plan.flow_slug, case when steps = 0 then 'completed' else 'started' end, r.input,
         case when steps = 0 then '{}'::jsonb end, steps, moment, case when steps = 0 then moment end
  from unnest(run_ids, inputs) as r (run_id, input);

  insert into pgflow.step_states
    (flow_slug, run_id, step_slug, status, initial_tasks, remaining_tasks, remaining_deps, created_at, started_at)
  select plan.flow_slug, r.run_id, s.step_slug, case when s.starts then 'started' else 'created' end,
         case when s.step_type = 'single' then 1 end, case when s.starts then 1 end, s.deps_count,
         moment, case when s.starts then moment end
  from unnest(run_ids) as r (run_id)
  cross join unnest(plan.steps) s;

  -- Where somebody is told of events: see _advance.
  if cardinality(run_ids) = 1 and plan.is_plain and steps > 0 and not pgflow._wants_events() then
    woken := pgflow._create_first_tasks(run_ids[1], plan);
  else
    woken := pgflow._advance_new_runs(run_ids, plan);
  end if;
  if cardinality(woken) > 0 then
    perform pgflow._notify(woken);
  end if;
end
$$;
