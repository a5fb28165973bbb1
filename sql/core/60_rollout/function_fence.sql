-- The open deployment whose fence holds a function (_open_fence), for operators, who may
-- not call what is internal. Null: none. Locks: none.
create function pgflow.function_fence(function_name text)
returns text
language sql
stable
set search_path = ''
as $$
  select pgflow._open_fence(function_name)
$$;
