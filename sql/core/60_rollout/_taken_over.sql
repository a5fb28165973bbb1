-- Functions of a manifest that a later deployment has taken over: it was fenced after this
-- one, and replaces the function, or this one did, or it ends it otherwise. What was closed
-- or aborted takes nothing over.
-- Locks: none.
create function pgflow._taken_over(loaded pgflow.deployment_manifest)
returns table (function_name text, deployment text, fenced_at timestamptz)
language sql
stable
set search_path = ''
as $$
  select distinct on (e.function_name) e.function_name, d.deployment, d.fenced_at
  from pgflow.deployment_manifest d
  cross join lateral pgflow._manifest_entries(d.manifest) as n
  join pgflow._manifest_entries(loaded.manifest) as e on e.function_name = n.function_name
  where d.deployment <> loaded.deployment
    and d.fenced_at > loaded.fenced_at
    and not d.was_aborted
    and (d.closed_at is null or d.applied_at >= d.fenced_at)
    and ('replace' in (e.action, n.action) or e.enabled <> n.enabled)
  order by e.function_name, d.fenced_at desc
$$;
