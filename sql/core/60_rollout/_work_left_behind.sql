-- Work that would stay without a worker when a manifest's retire functions are
-- disabled, as readable lines: pairs that a queue of theirs must be served for, while
-- no other function that ends enabled serves the queue. A plain flow that is active
-- under its own name and has no work is no reason: it is retired after its workers.
create function pgflow._work_left_behind(manifest jsonb)
returns setof text
language sql
stable
set search_path = ''
as $$
  with entries as (
    select * from pgflow._manifest_entries(manifest)
  ),
  served as (
    select e.function_name, e.action, e.enabled, e.queue_name from entries e where e.queue_name is not null
    union
    select e.function_name, e.action, e.enabled, s.queue_name
    from entries e join pgflow.steps s on s.flow_slug = e.flow_slug
  ),
  others as (
    select s.queue_name from served s where s.enabled
    union
    select lower(w.queue_name)
    from pgflow.workers w
    join pgflow.worker_functions f on f.function_name = w.function_name and f.enabled
    where pgflow._is_live(w) and w.function_name not in (select e.function_name from entries e)
  )
  select distinct format('function "%s" is the last on queue "%s", which still has work: step "%s" of flow "%s" (%s)',
                         s.function_name, s.queue_name, c.step_slug, c.flow_slug, array_to_string(c.reasons, ', '))
  from served s
  cross join lateral pgflow.queue_coverage(s.queue_name) as c
  join pgflow.flows f on f.flow_slug = c.flow_slug
  where s.action = 'retire'
    and s.queue_name not in (select o.queue_name from others o)
    and not (c.reasons = '{active}' and f.alias = f.flow_slug)
  order by 1
$$;
