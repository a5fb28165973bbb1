-- The entries of a manifest as rows, defaults filled in; exactly one of flow_slug
-- and queue_name (canonical) is set. The manifest has passed _manifest_problems.
-- modules: all that the entry names, of whatever set; _manifest_pins has the sets.
create function pgflow._manifest_entries(manifest jsonb)
returns table (
  function_name text,
  flow_slug text,
  queue_name text,
  action text,
  enabled boolean,
  start_mode text,
  modules text[]
)
language sql
immutable
set search_path = ''
as $$
  select e.entry ->> 'functionName',
         e.entry -> 'serves' ->> 'flow',
         lower(e.entry -> 'serves' ->> 'queue'),
         e.entry ->> 'action',
         (e.entry ->> 'enabled')::boolean,
         e.entry ->> 'startMode',
         coalesce((
           select array_agg(distinct lower(m.module) order by lower(m.module))
           from jsonb_array_elements(coalesce(pgflow._module_sets(nullif(e.entry -> 'modules', 'null')), '[]')) as s (modules)
           cross join lateral jsonb_array_elements_text(s.modules) as m (module)), '{}')
  from jsonb_array_elements(manifest -> 'entries') with ordinality as e (entry, position)
  order by e.position
$$;
