-- The modules of a manifest entry as sets, [[module, ...], ...] in lower case and in order:
-- a flat list is one set. Null: the entry names none. It has passed _is_module_list.
create function pgflow._module_sets(modules jsonb)
returns jsonb
language sql
immutable
set search_path = ''
as $$
  with given as (
    select s.modules, s.position
    from jsonb_array_elements(
      case when modules -> 0 is null then '[]'
           when jsonb_typeof(modules -> 0) = 'array' then modules
           else jsonb_build_array(modules) end) with ordinality as s (modules, position)
  )
  select jsonb_agg((
      select jsonb_agg(distinct lower(m.name))
      from jsonb_array_elements_text(g.modules) as m (name)) order by g.position)
  from given g
$$;
