-- Worker rows of replaced functions, neither stopped nor deprecated, live or silent,
-- that carry other modules than the manifest names, as readable lines: old code that
-- could claim once the function is enabled. A module is named by build-id or sha256;
-- both sets must be the same. Entries without modules (http): rows from before the
-- fence are old.
-- Callers: apply_manifest.
create function pgflow._workers_of_other_code(loaded pgflow.deployment_manifest)
returns setof text
language sql
stable
set search_path = ''
as $$
  with rows as (
    select w.worker_id, w.function_name, w.queue_name, w.started_at, e.modules,
           case jsonb_typeof(w.info -> 'modules') when 'array' then w.info -> 'modules' else '[]' end as carried
    from pgflow._manifest_entries(loaded.manifest) as e
    join pgflow.workers w on w.function_name = e.function_name
    where e.action = 'replace' and w.stopped_at is null and w.deprecated_at is null
  )
  select format('worker %s of function "%s" on queue "%s" %s', r.worker_id, r.function_name, r.queue_name,
                case when r.modules = '{}' then 'was there before the fence'
                  else 'does not carry exactly the modules of the manifest' end)
  from rows r
  where (r.modules = '{}' and r.started_at < loaded.fenced_at)
     or exists (
       select from jsonb_array_elements(r.carried) as m (module)
       where r.modules <> '{}'
         and coalesce(lower(m.module ->> 'buildId'), '') <> all (r.modules)
         and coalesce(lower(m.module ->> 'sha256'), '') <> all (r.modules))
     or exists (
       select from unnest(r.modules) as n (name)
       where not exists (
         select from jsonb_array_elements(r.carried) as m (module)
         where n.name in (lower(m.module ->> 'buildId'), lower(m.module ->> 'sha256'))))
  order by 1
$$;
