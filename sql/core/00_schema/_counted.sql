-- A number with its noun: 1 started run, 2 started runs. noun: singular, plural by -s.
create function pgflow._counted(number bigint, noun text)
returns text
language sql
immutable
set search_path = ''
as $$
  select format('%s %s%s', number, noun, case when number = 1 then '' else 's' end)
$$;
