-- Decides steps whose dependencies are all finished: tests their condition, counts the elements of maps, and starts,
-- completes (a map without elements), skips or fails each. In a run that fails here the other steps stay created.
-- Gives back the started ones, the completed and skipped ones, and the failed ones.
-- Locks: the caller holds the runs.
create function pgflow._open_steps(
  ready pgflow._step_ref[],
  out opened pgflow._step_ref[],
  out finished pgflow._step_ref[],
  out failed pgflow._step_ref[]
)
language plpgsql
set search_path = ''
as $$
begin
  with tested as materialized (
    select r.run_id, s.flow_slug, s.step_slug, s.step_type, s.deps_count, s.when_unmet,
           case when s.required_input_pattern is not null or s.forbidden_input_pattern is not null
                then pgflow._unmet_condition(r.run_id, s.definition) end as unmet
    from unnest(ready) r
    cross join lateral (
      select x.*, x as definition from pgflow.steps x
      where x.flow_slug = r.flow_slug and x.step_slug = r.step_slug
      offset 0) s
  ), decided as materialized (
    select t.run_id, t.step_slug, t.when_unmet, t.unmet,
           case when t.unmet is null then d.tasks end as tasks,
           case when t.unmet is not null then t.when_unmet
                when d.tasks = 0 then 'complete' else 'start' end as decision,
           bool_or(t.unmet is not null and t.when_unmet = 'fail') over (partition by t.run_id) as run_fails
    from tested t
    cross join lateral (select case
      when t.step_type = 'single' then 1
      when t.deps_count = 0 then (
        select jsonb_array_length(x.input) from pgflow.runs x where x.run_id = t.run_id)
      else coalesce((
        select jsonb_array_length(ds.output)
        from pgflow.deps p
        cross join lateral (
          select x.output from pgflow.step_states x
          where x.run_id = t.run_id and x.step_slug = p.dep_slug and x.status = 'completed'
          offset 0) ds
        where p.flow_slug = t.flow_slug and p.step_slug = t.step_slug), 0)
      end as tasks) d
  ), written as (
    update pgflow.step_states st
    set status = case d.decision when 'start' then 'started' when 'complete' then 'completed'
                                 when 'fail' then 'failed' else 'skipped' end,
        initial_tasks = coalesce(d.tasks, st.initial_tasks),
        remaining_tasks = d.tasks,
        output = case when d.decision = 'complete' then '[]'::jsonb end,
        error_message = case when d.decision = 'fail'
          then format('[CONDITION_UNMET] the input of step "%s" does not meet its %s', d.step_slug, d.unmet) end,
        skip_reason = case when d.decision like 'skip%' then 'condition_unmet' end,
        started_at = case when d.tasks is not null then greatest(n.moment, st.created_at) end,
        completed_at = case when d.decision = 'complete' then greatest(n.moment, st.created_at) end,
        failed_at = case when d.decision = 'fail' then greatest(n.moment, st.created_at) end,
        skipped_at = case when d.decision like 'skip%' then greatest(n.moment, st.created_at) end
    from decided d
    cross join lateral (select clock_timestamp()) as n (moment)
    where st.run_id = any (array[d.run_id]) and st.step_slug = d.step_slug and st.status = 'created'
      and (not d.run_fails or d.decision = 'fail')
    returning st.run_id, st.flow_slug, st.step_slug, d.decision, st.error_message
  )
  select coalesce(array_agg(w.ref) filter (where w.decision = 'start'), '{}'),
         coalesce(array_agg(w.ref) filter (where w.decision in ('complete', 'skip', 'skip-cascade')), '{}'),
         coalesce(array_agg(w.ref) filter (where w.decision = 'fail'), '{}')
  into opened, finished, failed
  from (
    select x.decision, row(x.run_id, x.flow_slug, x.step_slug,
      case x.decision when 'fail' then x.error_message when 'skip-cascade' then 'cascade' end)::pgflow._step_ref as ref
    from written x
  ) w;
end
$$;
