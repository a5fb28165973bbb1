-- What the first half of a rollout still waits for, up to the final states, as
-- (step, line); a step without line is over. It tells what is true now: a fence that
-- somebody lifted by hand opens its step again. Once the final states are applied nothing
-- here waits any more, until it is fenced once more.
--
-- 2 fence, 3 deprecate, 4 wait, 5 deploy, 6 apply
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
  -- Hosts that stand by with the right code may come before a fence that is repeated.
  old as (
    select *
    from replaced r
    where r.state <> 'stopped' and not r.deprecated and r.started_at < coalesce(loaded.fenced_at, 'infinity')
      and not (r.state = 'standby' and coalesce(r.right_modules, false))
  ),
  lifted as (
    select f.function_name
    from pgflow._own_entries(loaded) as e
    join pgflow.worker_functions f on f.function_name = e.function_name and f.enabled
    where loaded.fenced_at is not null
      and (e.action = 'replace' or (e.action = 'add' and exists (
        select from jsonb_array_elements(loaded.before_fence -> 'functions') as b (was)
        where b.was ->> 'functionName' = e.function_name and b.was -> 'existed' = 'false')))
  ),
  lines (step, line) as (
    select 2, format('function "%s" is enabled: somebody lifted its fence', l.function_name) from lifted l
    union all
    select 2, format('select * from pgflow.rollout_fence(%L)', loaded.deployment)
    where loaded.fenced_at is null or exists (select from lifted)
    union all
    select 3, format('worker %s of function "%s" (%s, pid %s) is not deprecated', o.worker_id, o.function_name, o.host, o.pid)
    from old o
    union all
    select 3, format('select pgflow.rollout_deprecate(%L)', loaded.deployment)
    where loaded.fenced_at is not null and exists (select from old)
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
    select 5, h.line from pgflow._missing_hosts(loaded) as h (line)
    union all
    select 6, u.line
    from (
      select pgflow._unready_functions(loaded)
      union all select pgflow._left_out_functions(loaded.manifest)
      union all select pgflow._workers_of_other_code(loaded)
      union all select pgflow._work_left_behind(loaded.manifest)
      union all select format('select * from pgflow.rollout_apply(%L)', loaded.deployment)
    ) as u (line)
  )
  select l.step, l.line
  from lines l
  where pgflow._is_open(loaded)
$$;
