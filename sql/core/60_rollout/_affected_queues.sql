-- The queues that a manifest affects: those that its functions serve, and, unless
-- its scope is "handler", every queue of the flows whose code a replace changes:
-- shared code or a contract is imported by all their workers.
-- A flow that is not compiled yet has no queues and no consumers.
create function pgflow._affected_queues(manifest jsonb)
returns table (queue_name text)
language sql
stable
set search_path = ''
as $$
  with entries as (
    select * from pgflow._manifest_entries(manifest)
  ),
  served as (
    select e.queue_name, e.action from entries e where e.queue_name is not null
    union
    select s.queue_name, e.action from entries e join pgflow.steps s on s.flow_slug = e.flow_slug
  ),
  changed_flows as (
    select e.flow_slug from entries e where e.action = 'replace' and e.flow_slug is not null
    union
    select s.flow_slug
    from entries e
    join pgflow.steps s on s.queue_name = e.queue_name
    join pgflow.flows f on f.flow_slug = s.flow_slug and f.retired_at is null
    where e.action = 'replace'
  )
  select s.queue_name from served s
  union
  select s.queue_name
  from changed_flows c
  join pgflow.steps s on s.flow_slug = c.flow_slug
  where coalesce(manifest ->> 'scope', 'all') = 'all'
$$;
