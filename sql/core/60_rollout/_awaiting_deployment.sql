-- The open (fenced) deployment that gives this function to the modules that a host
-- carries; null: none waits for it.
-- Locks: none.
create function pgflow._awaiting_deployment(function_name text, carried jsonb)
returns text
language sql
stable
set search_path = ''
as $$
  select d.deployment
  from pgflow.deployment_manifest d
  cross join lateral pgflow._manifest_pins(d.manifest) as e
  where d.fenced_at is not null
    and d.closed_at is null
    and d.aborting_at is null
    and coalesce(d.applied_at < d.fenced_at, true)
    and d.manifest @> jsonb_build_object('entries', jsonb_build_array(jsonb_build_object('functionName', $1)))
    and e.function_name = $1
    and e.enabled
    and (e.module_sets is null and e.action = 'add' or pgflow._carries_one_of(carried, e.module_sets))
  order by d.fenced_at desc
  limit 1
$$;
