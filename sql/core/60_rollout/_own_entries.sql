-- The entries of a manifest that no later deployment has taken over, with their module
-- sets: what its status speaks of.
-- Locks: none.
create function pgflow._own_entries(loaded pgflow.deployment_manifest)
returns table (
  function_name text,
  flow_slug text,
  queue_name text,
  action text,
  enabled boolean,
  start_mode text,
  module_sets jsonb
)
language sql
stable
set search_path = ''
as $$
  select e.*
  from pgflow._manifest_pins(loaded.manifest) as e
  where e.function_name not in (select t.function_name from pgflow._taken_over(loaded) as t)
$$;
