-- What the second half of a rollout still waits for, once the final states are
-- applied, as (step, line); a step without line is over. Done means that it is so now:
-- final states and pins in force, nobody of other code at work, live workers.
--
-- 6 apply, 7 confirm, 8 switch, 9 drain, 10 retire
create function pgflow._service_waits(loaded pgflow.deployment_manifest)
returns table (step int, line text)
language sql
stable
set search_path = ''
as $$
  with old as materialized (
    select d.flow_slug, s.blockers
    from pgflow._old_versions(loaded) as d
    cross join lateral pgflow.drain_status(d.flow_slug) as s
  )
  select 6, a.line
  from pgflow._apply_waits(loaded) as a (line)
  where not pgflow._is_open(loaded)
  union all
  select 7, o.line
  from pgflow._workers_of_other_code(loaded) as o (line)
  where not pgflow._is_open(loaded)
  union all
  select 7, g.line
  from pgflow.manifest_coverage(loaded.deployment) as c
  cross join lateral unnest(c.gaps) as g (line)
  union all
  select 7, format('function "%s" has no live worker at work with the modules of the manifest', e.function_name)
  from pgflow._own_entries(loaded) as e
  where e.action in ('replace', 'add') and e.enabled and e.start_mode = 'process'
    and not exists (
      select
      from pgflow.workers w
      where w.function_name = e.function_name and w.stopped_at is null and pgflow._is_live(w) and not w.standby
        and not pgflow._must_stop(w.worker_id, w.function_name)
        and (e.module_sets is null or pgflow._carries_one_of(w.info -> 'modules', e.module_sets)))
  union all
  select 8, format('alias "%s" points at "%s": select pgflow.activate_flow(%L, %L)',
                   o.alias, coalesce(o.active_flow_slug, '(nothing)'), o.alias, o.flow_slug)
  from pgflow._offered_versions(loaded) as o
  union all
  select 9, format('flow "%s": %s', o.flow_slug, b.line)
  from old o
  cross join lateral unnest(o.blockers) as b (line)
  union all
  select 10, format('worker %s of function "%s" (%s, pid %s) is not deprecated', w.worker_id, w.function_name, w.host, w.pid)
  from pgflow.manifest_workers(loaded.deployment) as w
  where w.action = 'retire' and w.state <> 'stopped' and not w.deprecated
  union all
  select 10, format('select pgflow.deprecate_function_workers(%L)', array_agg(distinct w.function_name))
  from pgflow.manifest_workers(loaded.deployment) as w
  where w.action = 'retire' and w.state <> 'stopped' and not w.deprecated
  having count(*) > 0
  union all
  select 10, format('flow "%s" is in service: select pgflow.retire_flow(%L)', o.flow_slug, o.flow_slug)
  from old o
$$;
