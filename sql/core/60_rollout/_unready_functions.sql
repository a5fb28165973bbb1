-- Functions of a manifest that must not get their final state yet, as readable
-- lines: never inserted, replaced without a fence, or paused by a guard after it.
-- Callers: apply_manifest.
create function pgflow._unready_functions(loaded pgflow.deployment_manifest)
returns setof text
language sql
stable
set search_path = ''
as $$
  select case
      when f.function_name is null then format('function "%s" has no row yet', e.function_name)
      when e.action = 'replace' and loaded.fenced_at is null
        then format('function "%s" is to be replaced and was not fenced', e.function_name)
      else format('function "%s" was paused by the guard at %s, after the fence: %s', e.function_name, f.paused_at,
                  coalesce(f.pause_reason -> 'pairs', '[]'))
    end
  from pgflow._manifest_entries(loaded.manifest) as e
  left join pgflow.worker_functions f on f.function_name = e.function_name
  where f.function_name is null
     or (e.action = 'replace' and loaded.fenced_at is null)
     or f.paused_at >= loaded.fenced_at
  order by 1
$$;
