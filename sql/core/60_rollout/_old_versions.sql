-- The flows in service that a rollout leaves behind: those with a step on a queue of
-- the manifest that are older than the active version of their alias, and those that
-- an entry which drains or retires names.
create function pgflow._old_versions(loaded pgflow.deployment_manifest)
returns table (flow_slug text)
language sql
stable
set search_path = ''
as $$
  with entries as (
    select * from pgflow._manifest_entries(loaded.manifest)
  ),
  queues as (
    select e.queue_name from entries e where e.queue_name is not null
    union
    select s.queue_name from entries e join pgflow.steps s on s.flow_slug = e.flow_slug
  )
  select f.flow_slug
  from pgflow.flows f
  where f.retired_at is null
    and (
      f.flow_slug in (
        select e.flow_slug from entries e where e.action in ('keep-draining', 'retire') and e.flow_slug is not null)
      or exists (
        select
        from pgflow.flow_aliases a
        join pgflow.flows n on n.flow_slug = a.active_flow_slug
        where a.alias = f.alias and n.created_at > f.created_at
          and exists (
            select from pgflow.steps s join queues q on q.queue_name = s.queue_name
            where s.flow_slug = f.flow_slug)))
$$;
