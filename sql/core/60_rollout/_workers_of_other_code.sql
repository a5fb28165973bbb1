-- Worker rows of replaced functions, neither stopped nor deprecated, live or silent,
-- that carry other modules than the manifest names, as readable lines: old code that
-- could claim once the function is enabled. A module is named by build-id or sha256;
-- both sets must be the same. Entries without modules (http): rows from before the
-- fence are old.
-- Callers: apply_manifest, rollout_status.
create function pgflow._workers_of_other_code(loaded pgflow.deployment_manifest)
returns setof text
language sql
stable
set search_path = ''
as $$
  with rows as (
    select w.worker_id, w.function_name, w.queue_name, w.started_at, e.modules, w.info -> 'modules' as carried
    from pgflow._manifest_entries(loaded.manifest) as e
    join pgflow.workers w on w.function_name = e.function_name
    where e.action = 'replace' and w.stopped_at is null and w.deprecated_at is null
  )
  select format('worker %s of function "%s" on queue "%s" %s', r.worker_id, r.function_name, r.queue_name,
                case when r.modules = '{}' then 'was there before the fence'
                  else 'does not carry exactly the modules of the manifest' end)
  from rows r
  where case when r.modules = '{}' then r.started_at < loaded.fenced_at
          else not pgflow._carries_exactly(r.carried, r.modules) end
  order by 1
$$;
