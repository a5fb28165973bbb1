-- Module sets for people: "a1, b2" or "a1, b2 or c3, d4".
create function pgflow._show_module_sets(module_sets jsonb)
returns text
language sql
immutable
set search_path = ''
as $$
  select string_agg((select string_agg(m.name, ', ' order by m.position)
                     from jsonb_array_elements_text(s.modules) with ordinality as m (name, position)),
                    ' or ' order by s.position)
  from jsonb_array_elements(module_sets) with ordinality as s (modules, position)
$$;
