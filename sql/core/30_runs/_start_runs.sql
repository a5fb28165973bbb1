-- Starts one run per input, all of the same flow, under the given ids. The work of every start_flow* function.
--
-- Runs and step states come from one statement, hence one snapshot: a step that is being added meanwhile is in both
-- or in neither. Plain root steps (single, no condition) are inserted as started; the rest is for _advance.
-- Locks: the flow's row for key share. Errors: those of _resolve_flow; unknown input; a root map without an array.
create function pgflow._start_runs(name text, run_ids uuid[], inputs jsonb[])
returns void
language plpgsql
set search_path = ''
as $$
declare
  flow pgflow.flows := pgflow._resolve_flow(name);
  moment timestamptz := clock_timestamp();
  opened pgflow._step_ref[];
  ready pgflow._step_ref[];
  steps_left bigint;
  runs_made bigint;
  woken text[];
begin
  perform pgflow._check_inputs(flow.flow_slug, inputs);

  with step as materialized (
    select s.step_slug, s.step_index, s.deps_count, s.step_type,
           s.deps_count = 0 and s.step_type = 'single'
             and s.required_input_pattern is null and s.forbidden_input_pattern is null as starts
    from pgflow.steps s
    where s.flow_slug = flow.flow_slug
  ), run as (
    insert into pgflow.runs (run_id, flow_slug, status, input, output, remaining_steps, started_at, completed_at)
    select r.run_id, flow.flow_slug, case when n.steps = 0 then 'completed' else 'started' end, r.input,
           case when n.steps = 0 then '{}'::jsonb end, n.steps, moment, case when n.steps = 0 then moment end
    from unnest(run_ids, inputs) as r (run_id, input)
    cross join (select count(*)::int as steps from step) n
    returning run_id
  ), state as (
    insert into pgflow.step_states
      (flow_slug, run_id, step_slug, status, initial_tasks, remaining_tasks, remaining_deps, created_at, started_at)
    select flow.flow_slug, r.run_id, s.step_slug, case when s.starts then 'started' else 'created' end,
           case when s.step_type = 'single' then 1 end, case when s.starts then 1 end, s.deps_count,
           moment, case when s.starts then moment end
    from unnest(run_ids) with ordinality as r (run_id, place)
    cross join step s
    order by r.place, s.step_index
    returning run_id, flow_slug, step_slug, status, remaining_deps
  )
  select array_agg(row(s.run_id, s.flow_slug, s.step_slug, null)::pgflow._step_ref) filter (where s.status = 'started'),
         array_agg(row(s.run_id, s.flow_slug, s.step_slug, null)::pgflow._step_ref)
           filter (where s.status = 'created' and s.remaining_deps = 0),
         count(*), (select count(*) from run)
  into opened, ready, steps_left, runs_made
  from state s;

  select a.woken into woken
  from pgflow._advance('{}', coalesce(ready, '{}'), coalesce(opened, '{}'), '{}', steps_left, run_ids) a;
  if cardinality(woken) > 0 then
    perform pgflow._notify(woken);
  end if;
end
$$;
