-- Makes the runs of restarts on one flow, with their step states, and gives back their first steps:
-- opened    plain steps (single, no condition) that wait for nothing: started
-- ready     others that wait for nothing and need a decision
-- partial   maps of which elements are taken over: they need a decision too
-- closed    taken over, and counted as finished just now by _advance: skipped steps that take their dependents with
--           them, and all steps of a run that takes over everything, so that it completes
--
-- A step that is taken over keeps what was recorded of it, times too. input: of all runs; null: each the old run's.
-- Locks: none; the caller holds the flow and the old runs.
create function pgflow._insert_restarts(
  restarts pgflow._restart[],
  target text,
  input jsonb,
  resumed boolean,
  out opened pgflow._step_ref[],
  out ready pgflow._step_ref[],
  out partial pgflow._step_ref[],
  out closed pgflow._step_ref[]
)
language plpgsql
set search_path = ''
as $$
declare
  moment timestamptz := clock_timestamp();
  steps int := (select count(*) from pgflow.steps s where s.flow_slug = target);
begin
  insert into pgflow.runs (run_id, flow_slug, status, input, output, remaining_steps, started_at, completed_at)
  select a.new_run_id, target, case when steps = 0 then 'completed' else 'started' end,
         coalesce(_insert_restarts.input, r.input), case when steps = 0 then '{}'::jsonb end,
         case when steps = cardinality(a.taken) then steps
              else steps - cardinality(a.taken) + cardinality(a.cascades) end,
         moment, case when steps = 0 then moment end
  from unnest(restarts) a
  cross join lateral (select x.input from pgflow.runs x where x.run_id = a.run_id offset 0) r;

  insert into pgflow.run_restarts (run_id, restart_of_run_id, origin_run_id, restart_no, resumed, restarted_at)
  select a.new_run_id, a.run_id, coalesce(own.origin_run_id, a.run_id), coalesce(last.restart_no, 0) + 1, resumed, moment
  from unnest(restarts) a
  left join lateral (
    select x.origin_run_id from pgflow.run_restarts x where x.run_id = a.run_id offset 0) own on true
  left join lateral (
    select max(x.restart_no) as restart_no from pgflow.run_restarts x where x.restart_of_run_id = a.run_id offset 0) last on true;

  with step as materialized (
    select s.step_slug, s.step_index, s.step_type,
           s.step_type = 'single' and s.required_input_pattern is null and s.forbidden_input_pattern is null as is_plain,
           array(select d.dep_slug from pgflow.deps d where d.flow_slug = s.flow_slug and d.step_slug = s.step_slug) as deps
    from pgflow.steps s
    where s.flow_slug = target
  ), place as materialized (
    select a.run_id as old_run_id, a.new_run_id, s.step_slug, s.step_index, s.step_type, s.is_taken, s.open, s.cascades,
           s.open = 0 and s.is_plain and not s.is_taken as starts,
           case when s.is_taken
                  then case when s.cascades or cardinality(a.taken) = steps then 'closed' end
                when s.step_slug = any (a.partial) then 'partial'
                when s.open > 0 then null
                when s.is_plain then 'opened'
                else 'ready' end as next
    from unnest(restarts) a
    cross join lateral (
      select x.*, x.step_slug = any (a.taken) as is_taken, x.step_slug = any (a.cascades) as cascades,
             (select count(*)::int from unnest(x.deps) d where d <> all (a.taken) or d = any (a.cascades)) as open
      from step x
      offset 0) s
  ), made as (
    insert into pgflow.step_states
      (flow_slug, run_id, step_slug, status, initial_tasks, remaining_tasks, remaining_deps, output, error_message,
       skip_reason, created_at, started_at, completed_at, skipped_at)
    select target, p.new_run_id, p.step_slug, coalesce(o.status, case when p.starts then 'started' else 'created' end),
           case when p.is_taken then o.initial_tasks when p.step_type = 'single' then 1 end,
           case when p.is_taken then o.remaining_tasks when p.starts then 1 end,
           coalesce(o.remaining_deps, p.open), o.output, o.error_message, o.skip_reason,
           coalesce(o.created_at, moment), case when p.is_taken then o.started_at when p.starts then moment end,
           o.completed_at, o.skipped_at
    from place p
    left join lateral (
      select x.* from pgflow.step_states x
      where p.is_taken and x.run_id = p.old_run_id and x.step_slug = p.step_slug
      offset 0) o on true
  )
  select coalesce(array_agg(p.ref) filter (where p.next = 'opened'), '{}'),
         coalesce(array_agg(p.ref) filter (where p.next = 'ready'), '{}'),
         coalesce(array_agg(p.ref) filter (where p.next = 'partial'), '{}'),
         coalesce(array_agg(p.ref) filter (where p.next = 'closed'), '{}')
  into opened, ready, partial, closed
  from (select x.next, row(x.new_run_id, target, x.step_slug, case when x.cascades then 'cascade' end)::pgflow._step_ref as ref
        from place x where x.next is not null order by x.new_run_id, x.step_index) p;
end
$$;
