-- What an operator should know and nothing waits for, as (step, line): rows of other code
-- that stand by, hosts that no manifest names, functions that later deployments took over.
-- Locks: none.
create function pgflow._rollout_notes(loaded pgflow.deployment_manifest)
returns table (step int, line text)
language sql
stable
set search_path = ''
as $$
  with steps as (
    select case when pgflow._is_open(loaded) then 5 else 7 end as step
  ),
  rows as (
    select c.line, w.info ->> 'host' as host, w.info ->> 'pid' as pid
    from pgflow._code_rows(loaded) as c
    join pgflow.workers w on w.worker_id = c.worker_id
    where not c.is_at_work and pgflow._is_live(w)
  )
  select s.step, format('wrong_modules: %s (%s, pid %s)', r.line, r.host, r.pid)
  from steps s, rows r
  union all
  select s.step, format('not_in_manifest: worker %s of function "%s" on queue "%s" (%s, pid %s) stands by for good', f.worker_id,
                        f.function_name, f.queue_name, f.host, f.pid)
  from steps s
  cross join pgflow.fenced_workers() as f
  where f.reason = 'not_in_manifest'
    and lower(f.queue_name) in (select a.queue_name from pgflow._affected_queues(loaded.manifest) as a)
  union all
  select 6, format('function "%s" belongs to deployment "%s" since %s', t.function_name, t.deployment, t.fenced_at)
  from pgflow._taken_over(loaded) as t
$$;
