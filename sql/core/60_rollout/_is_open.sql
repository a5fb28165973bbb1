-- Whether a deployment is on its way: its final states are not set since its last fence.
create function pgflow._is_open(loaded pgflow.deployment_manifest)
returns boolean
language sql
immutable
set search_path = ''
as $$
  select loaded.applied_at is null or coalesce(loaded.applied_at < loaded.fenced_at, false)
$$;
