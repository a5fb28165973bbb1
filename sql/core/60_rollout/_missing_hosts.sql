-- Process functions of a manifest that are replaced or added, end enabled, and have no live
-- worker with the modules that the manifest gives (an add without modules: with any), as
-- readable lines: nobody would serve after the apply.
create function pgflow._missing_hosts(loaded pgflow.deployment_manifest)
returns setof text
language sql
stable
set search_path = ''
as $$
  select format('function "%s" has no live worker that stands by with the modules of the manifest', e.function_name)
  from pgflow._own_entries(loaded) as e
  where e.action in ('replace', 'add')
    and e.enabled
    and e.start_mode = 'process'
    and not exists (
      select
      from pgflow.workers w
      where w.function_name = e.function_name
        and w.stopped_at is null
        and pgflow._is_live(w)
        and (e.module_sets is null or pgflow._carries_one_of(w.info -> 'modules', e.module_sets)))
  order by 1
$$;
