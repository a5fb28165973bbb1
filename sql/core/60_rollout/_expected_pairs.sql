-- The pairs that must be served once a manifest is applied, by queue: of every queue
-- that a function which ends enabled serves, what queue_coverage asks for there, and
-- the steps of the flow that is about to take new starts: the one that the entry
-- names, or the owner of the private queue. On a shared queue the newest version of
-- each alias is expected too when a worker of the manifest carries it.
create function pgflow._expected_pairs(deployment text)
returns table (queue_name text, flow_slug text, step_slug text)
language sql
stable
set search_path = ''
as $$
  with entries as (
    select * from pgflow._own_entries(pgflow._find_manifest(_expected_pairs.deployment)) as e where e.enabled
  ),
  queues as (
    select e.queue_name from entries e where e.queue_name is not null
    union
    select s.queue_name from entries e join pgflow.steps s on s.flow_slug = e.flow_slug
  ),
  offered as (
    select e.flow_slug from entries e where e.action in ('add', 'replace') and e.flow_slug is not null
    union
    select q.owner_flow_slug from entries e join pgflow.queues q on q.queue_name = e.queue_name
    union
    select p.flow_slug
    from entries e
    join pgflow.workers w on w.function_name = e.function_name and pgflow._is_live(w)
    join pgflow.worker_task_pairs p on p.worker_id = w.worker_id
    join pgflow.flows f on f.flow_slug = p.flow_slug
    where not exists (
      select from pgflow.flows n where n.alias = f.alias and n.retired_at is null and n.created_at > f.created_at)
  )
  select q.queue_name, s.flow_slug, s.step_slug
  from queues q
  join pgflow.steps s on s.queue_name = q.queue_name
  join pgflow.flows f on f.flow_slug = s.flow_slug and f.retired_at is null
  where s.flow_slug in (select o.flow_slug from offered o)
  union
  select q.queue_name, c.flow_slug, c.step_slug
  from queues q
  cross join lateral pgflow.queue_coverage(q.queue_name) as c
$$;
