-- What an applied manifest declares and is not so now, as readable lines: final states that
-- somebody changed, and pins that are not in force.
-- Locks: none.
create function pgflow._apply_waits(loaded pgflow.deployment_manifest)
returns setof text
language sql
stable
set search_path = ''
as $$
  select case
      when f.function_name is null then format('function "%s" has no row any more', e.function_name)
      when f.paused_at is not null then format('function "%s" was paused by the guard at %s: %s', e.function_name, f.paused_at,
                                               coalesce(f.pause_reason -> 'pairs', '[]'))
      else format('function "%s" is %s, and the manifest declares otherwise', e.function_name,
                  case when f.enabled then 'enabled' else 'disabled' end)
    end
  from pgflow._own_entries(loaded) as e
  left join pgflow.worker_functions f on f.function_name = e.function_name
  where f.enabled is distinct from e.enabled
  union all
  select case when p.unpinned_at is not null
      then format('function "%s" was unpinned at %s by %s: any code may serve it', e.function_name, p.unpinned_at, p.unpinned_by)
      else format('function "%s" is not pinned to the modules of the manifest', e.function_name) end
  from pgflow._own_entries(loaded) as e
  left join pgflow.function_pins p on p.function_name = e.function_name and p.ended_at is null
  where e.module_sets is not null and (p.unpinned_at is not null or p.module_sets is distinct from e.module_sets)
  order by 1
$$;
