-- Functions of a manifest that must not get their final state yet, as readable
-- lines: never inserted, replaced without a fence, in a deployment that began after
-- this one and replaces them or ends them otherwise (its fence would be lifted, or its
-- end undone), or paused by a guard after the fence.
create function pgflow._unready_functions(loaded pgflow.deployment_manifest)
returns setof text
language sql
stable
set search_path = ''
as $$
  with entries as (
    select * from pgflow._manifest_entries(loaded.manifest)
  )
  select case
      when f.function_name is null then format('function "%s" has no row yet', e.function_name)
      when e.action = 'replace' and loaded.fenced_at is null
        then format('function "%s" is to be replaced and was not fenced', e.function_name)
      when t.function_name is not null
        then format('function "%s" belongs to deployment "%s" since %s, after the fence of this one', e.function_name,
                    t.deployment, t.fenced_at)
      else format('function "%s" was paused by the guard at %s, after the fence: %s', e.function_name, f.paused_at,
                  coalesce(f.pause_reason -> 'pairs', '[]'))
    end
  from entries e
  left join pgflow.worker_functions f on f.function_name = e.function_name
  left join pgflow._taken_over(loaded) as t on t.function_name = e.function_name
  where f.function_name is null
     or (e.action = 'replace' and loaded.fenced_at is null)
     or t.function_name is not null
     or f.paused_at >= loaded.fenced_at
  order by 1
$$;
