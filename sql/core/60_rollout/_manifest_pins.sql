-- The entries of a manifest with their module sets: _manifest_entries, which has all
-- modules in one list, and what it cannot say. module_sets are those that pin: of
-- processes that stay, null where any code may serve.
create function pgflow._manifest_pins(manifest jsonb)
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
immutable
set search_path = ''
as $$
  select e.entry ->> 'functionName',
         e.entry -> 'serves' ->> 'flow',
         lower(e.entry -> 'serves' ->> 'queue'),
         e.entry ->> 'action',
         (e.entry ->> 'enabled')::boolean,
         e.entry ->> 'startMode',
         case when e.entry ->> 'startMode' = 'process' and e.entry ->> 'action' <> 'retire'
           then pgflow._module_sets(nullif(e.entry -> 'modules', 'null')) end
  from jsonb_array_elements(manifest -> 'entries') with ordinality as e (entry, position)
  order by e.position
$$;
