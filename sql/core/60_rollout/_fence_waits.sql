-- What the first half of a rollout still waits for, up to the final states, as
-- (step, line); a step without line is over. Once the final states are applied
-- nothing here waits any more, until it is fenced once more.
--
-- 2 fence, 3 deprecate, 4 wait, 5 deploy, 6 apply
-- Callers: rollout_status.
create function pgflow._fence_waits(loaded pgflow.deployment_manifest)
returns table (step int, line text)
language sql
stable
set search_path = ''
as $$
  with workers as (
    select * from pgflow.manifest_workers(loaded.deployment)
  ),
  replaced as (
    select * from workers w where w.action = 'replace'
  ),
  lines (step, line) as (
    select 2, format('select pgflow.fence_manifest(%L)', loaded.deployment) where loaded.fenced_at is null
    union all
    select 3, format('worker %s of function "%s" (%s, pid %s) is not deprecated', r.worker_id, r.function_name, r.host, r.pid)
    from replaced r
    where r.state <> 'stopped' and not r.deprecated and r.started_at < coalesce(loaded.fenced_at, 'infinity')
    union all
    select 3, format('select pgflow.deprecate_workers(%L)', array_agg(distinct r.function_name))
    from replaced r
    where r.state <> 'stopped' and not r.deprecated and r.started_at < loaded.fenced_at
    having count(*) > 0
    union all
    select 4, format('worker %s of function "%s" (%s, pid %s) is still working', r.worker_id, r.function_name, r.host, r.pid)
    from replaced r
    where r.state = 'working' and not r.gone
    union all
    select 4, format('worker %s of function "%s" has %s', r.worker_id, r.function_name,
                     pgflow._counted(r.started_tasks, 'started task'))
    from replaced r
    where r.started_tasks > 0
    union all
    select 5, o.line from pgflow._workers_of_other_code(loaded) as o (line)
    union all
    select 5, format('stop those processes, then: select pgflow.deprecate_workers(%L)', array_agg(distinct r.function_name))
    from replaced r
    where r.state <> 'stopped' and not r.deprecated and r.right_modules is false
    having count(*) > 0
    union all
    select 5, format('function "%s" has no live worker that stands by with the modules of the manifest', e.function_name)
    from pgflow._manifest_entries(loaded.manifest) as e
    where e.action in ('replace', 'add') and e.enabled and e.start_mode = 'process'
      and not exists (
        select from workers w
        where w.function_name = e.function_name and w.live and w.right_modules is not false)
    union all
    select 6, u.line
    from (
      select pgflow._unready_functions(loaded)
      union all select pgflow._left_out_functions(loaded.manifest)
      union all select pgflow._work_left_behind(loaded.manifest)
      union all select format('select pgflow.apply_manifest(%L)', loaded.deployment)
    ) as u (line)
  )
  select l.step, l.line
  from lines l
  where loaded.applied_at is null or loaded.applied_at < loaded.fenced_at
$$;
