-- Whether a JSON value can be the modules of an entry: a list of texts, or a list of such
-- lists, none of them empty; absent and null count as an empty list.
create function pgflow._is_module_list(modules jsonb)
returns boolean
language sql
immutable
set search_path = ''
as $$
  select case
    when jsonb_typeof(modules) = 'array' and jsonb_typeof(modules -> 0) = 'array' then not exists (
      select from jsonb_array_elements(modules) as s (list)
      where jsonb_typeof(s.list) <> 'array' or s.list = '[]' or not pgflow._is_list_of_texts(s.list))
    else pgflow._is_list_of_texts(modules)
  end
$$;
