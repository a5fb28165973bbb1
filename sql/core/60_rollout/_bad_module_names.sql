-- The modules of a manifest entry that can be no build-id and no sha256 sum: those are
-- bytes in hexadecimal digits, at most 64 of them. A file name, a sum with its algorithm
-- before it or one that was cut short matches no process ever. What http functions say
-- of themselves is theirs.
create function pgflow._bad_module_names(entry jsonb)
returns setof text
language sql
immutable
set search_path = ''
as $$
  select m.name
  from jsonb_array_elements(
    case when pgflow._is_module_list(entry -> 'modules') and jsonb_typeof(entry -> 'modules' -> 0) = 'array'
           then entry -> 'modules'
         when pgflow._is_module_list(entry -> 'modules') and jsonb_typeof(entry -> 'modules') = 'array'
           then jsonb_build_array(entry -> 'modules')
         else '[]' end)
    with ordinality as s (modules, set_position)
  cross join lateral jsonb_array_elements_text(s.modules) with ordinality as m (name, position)
  where entry ->> 'startMode' is distinct from 'http'
    and m.name <> ''
    and m.name !~* '^([0-9a-f]{2}){1,64}$'
  order by s.set_position, m.position
$$;
