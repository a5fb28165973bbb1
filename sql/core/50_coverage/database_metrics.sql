-- The database as a whole in the text format of Prometheus: every queue (queue_overview) and every worker function.
-- Any host serves it, and so does `pgflowctl metrics`: an alert on a queue needs no host of that queue.
-- Label values are queue and function names, escaped. Locks: none. Reads every live task.
create function pgflow.database_metrics()
returns text
language sql
stable
set search_path = ''
as $$
  with q as materialized (select * from pgflow.queue_overview()),
  label as (
    select q.*, format('{queue="%s"', q.queue_name) as open from q
  ),
  f as (
    select format('{function="%s"}', replace(replace(replace(w.function_name, '\', '\\'), '"', '\"'), E'\n', '\n')) as label,
           w.function_name, w.enabled, w.paused_at is not null and not w.enabled as is_paused
    from pgflow.worker_functions w
  ),
  line (family, at, text) as (
    select 1, l.queue_name, l.open || ',state="ready"} ' || l.ready || E'\n'
           || 'pgflow_database_queue_tasks' || l.open || ',state="delayed"} ' || l.delayed || E'\n'
           || 'pgflow_database_queue_tasks' || l.open || ',state="started"} ' || l.started
    from label l
    union all
    select 2, l.queue_name, l.open || '} ' || coalesce(round(extract(epoch from l.oldest_age), 3), 0) from label l
    union all
    select 3, l.queue_name, l.open || '} ' || l.is_needed::int from label l
    union all
    select 4, l.queue_name, l.open || ',state="working"} ' || l.working || E'\n'
           || 'pgflow_database_queue_workers' || l.open || ',state="standby"} ' || l.standby || E'\n'
           || 'pgflow_database_queue_workers' || l.open || ',state="silent"} ' || l.silent
    from label l
    union all
    select 5, f.function_name, f.label || ' ' || f.enabled::int from f
    union all
    select 6, f.function_name, f.label || ' ' || f.is_paused::int from f
  ),
  family (number, name, help) as (
    values
      (1, 'pgflow_database_queue_tasks', 'Tasks of every queue: ready to be claimed, delayed, and in some worker''s hand.'),
      (2, 'pgflow_database_queue_oldest_seconds', 'For how long the oldest ready task has waited; 0 when none is ready.'),
      (3, 'pgflow_database_queue_needed', '1 while an active version or a started run has a step on the queue.'),
      (4, 'pgflow_database_queue_workers', 'Live workers that work or stand by, and those that went silent.'),
      (5, 'pgflow_database_function_enabled', '1 while the worker function is enabled.'),
      (6, 'pgflow_database_function_paused', '1 while the guard against unsupported work keeps the function paused.')
  )
  select coalesce(string_agg(
           format(E'# HELP %s %s\n# TYPE %s gauge\n', f.name, f.help, f.name)
           || (select string_agg(f.name || l.text || E'\n', '' order by l.at) from line l where l.family = f.number),
           '' order by f.number), '')
  from family f
  where exists (select from line l where l.family = f.number)
$$;
