-- Decides what new runs of the flow `target` take over from ended runs of the flow `source`, and refuses those that
-- cannot be resumed. Gives back the restarts, in any order, with taken, cascades, partial and refused set; those that were
-- refused before stay as they are.
--
-- taken     completed and skipped steps whose dependencies are all taken over. With rerun_skipped not those that were
--           skipped because their handler failed. On another flow a skipped step is taken over only where both decide
--           it alike.
-- partial   maps that are not taken over, have completed elements, and whose source is taken over
-- Refused: a completed step, or a map with completed elements, that the target defines differently; a completed step
-- that depends on one which is not taken over, unless rerun_skipped wants it so; states, outputs or elements that are
-- gone; a condition that would end the new run at once, because the finished work still does not meet it.
--
-- Everything that is known of a step in a run travels in rows of (run, step), which `group by` brings together: joins
-- between them would be nested loops here.
-- Locks: none; the caller holds the runs and both flows.
create function pgflow._take_over(
  restarts pgflow._restart[], source text, target text, rerun_skipped boolean)
returns pgflow._restart[]
language plpgsql
set search_path = ''
as $$
begin
  return array(
    with recursive step as materialized (
      select s.step_slug, s.step_index, s.step_type, s.when_unmet, s.when_exhausted, s.created_at, d.differs, coalesce(d.decides, false) as decides,
             d.step_slug is not null as in_source,
             s.when_unmet = 'fail' and (s.required_input_pattern is not null
                                        or s.forbidden_input_pattern is not null) as may_fail
      from pgflow.steps s
      left join pgflow._restart_differences(source, target) d on d.step_slug = s.step_slug
      where s.flow_slug = target
    ), found as materialized (
      -- Each step of the target in each run, beside what the run has of it.
      select r.place, r.run_id, r.new_run_id, s.step_slug, o.status, o.initial_tasks,
             case o.skip_reason when 'condition_unmet' then s.when_unmet when 'handler_failed' then s.when_exhausted end
               = 'skip-cascade' as cascades,
             s.in_source and s.created_at <= run.started_at and o.status is null
               or o.status = 'completed' and not o.has_output as is_gone,
             case
               when o.status = 'completed' then 'completed'
               when o.status is distinct from 'skipped' then 'missing'
               when rerun_skipped and o.skip_reason = 'handler_failed' then 'rerun'
               when s.decides then 'skipped'
               else 'anew'
             end as fate
      from unnest(restarts) r
      cross join lateral (select x.started_at from pgflow.runs x where x.run_id = r.run_id offset 0) run
      cross join lateral (select x.* from step x offset 0) s
      left join lateral (
        select x.status, x.skip_reason, x.initial_tasks, x.output is not null as has_output
        from pgflow.step_states x
        where x.run_id = r.run_id and x.step_slug = s.step_slug
        offset 0) o on true
      where r.refused is null
    ), fallen as (
      -- A step that is not taken over takes along what depends on it. cause: where it begins
      select f.place, f.run_id, f.new_run_id, f.step_slug, f.step_slug as cause, f.fate
      from found f
      where f.fate in ('missing', 'rerun', 'anew')
      union
      select up.place, up.run_id, up.new_run_id, d.step_slug, up.cause, up.fate
      from fallen up
      cross join lateral (
        select x.step_slug from pgflow.deps x
        where x.flow_slug = target and x.dep_slug = up.step_slug
        offset 0) d
    ), together as (
      select k.place, k.run_id, k.new_run_id, k.step_slug, max(k.status) as status, max(k.initial_tasks) as initial_tasks,
             bool_or(k.is_gone) as is_gone, max(k.own) as fate, max(k.cause) as cause,
             bool_or(k.reruns) as reruns, bool_or(k.cascades) as cascades
      from (
        select f.place, f.run_id, f.new_run_id, f.step_slug, f.status, f.initial_tasks, f.is_gone, f.fate as own,
               null as cause, false as reruns, f.cascades
        from found f
        union all
        select f.place, f.run_id, f.new_run_id, f.step_slug, null, null, null, null, f.cause, f.fate = 'rerun', false
        from fallen f
        where f.cause <> f.step_slug
      ) k
      group by k.place, k.run_id, k.new_run_id, k.step_slug
    ), judged as (
      select t.place, t.run_id, t.new_run_id, t.step_slug, s.step_index,
             t.cause is null and t.fate in ('completed', 'skipped') as is_taken, t.cascades,
             coalesce(e.completed > 0, false) as is_partial,
             case
               when t.is_gone then format('data of its step "%s" is gone', t.step_slug)
               when t.fate = 'completed' and t.cause is not null and not t.reruns
                 then format('step "%s" is completed and depends on step "%s", which flow "%s" has yet to decide',
                             t.step_slug, t.cause, target)
               when t.fate = 'completed' and t.cause is null or e.completed > 0 then s.differs
             end as problem,
             case
               when e.made <> t.initial_tasks
                 then format('of the %s elements of its map step "%s" only %s are left', t.initial_tasks, t.step_slug, e.made)
               when s.may_fail and t.cause is null and t.fate not in ('completed', 'skipped') then (
                 select format('its input still does not meet the %s of step "%s"', u.unmet, t.step_slug)
                 from pgflow.steps x
                 cross join lateral pgflow._unmet_condition(t.run_id, x) as u (unmet)
                 where x.flow_slug = target and x.step_slug = t.step_slug and u.unmet is not null)
             end as obstacle
      from together t
      cross join lateral (
        select x.step_index, x.step_type, x.differs, x.may_fail from step x where x.step_slug = t.step_slug limit 1) s
      left join lateral (
        select count(*) filter (where x.status = 'completed') as completed, count(*) as made
        from pgflow.step_tasks x
        where x.run_id = t.run_id and x.step_slug = t.step_slug
        offset 0) e on s.step_type = 'map' and t.fate in ('missing', 'rerun') and t.cause is null and t.initial_tasks > 0
    )
    select row(j.place, j.run_id, source, j.new_run_id,
               coalesce(array_agg(j.step_slug) filter (where j.is_taken), '{}'),
               coalesce(array_agg(j.step_slug) filter (where j.is_taken and j.cascades), '{}'),
               coalesce(array_agg(j.step_slug) filter (where j.is_partial), '{}'),
               (array_agg(coalesce(j.problem || '; retry_runs starts it over', j.obstacle) order by j.step_index)
                  filter (where j.problem is not null or j.obstacle is not null))[1])::pgflow._restart
    from judged j
    group by j.place, j.run_id, j.new_run_id
    union all
    select r from unnest(restarts) r where r.refused is not null);
end
$$;
