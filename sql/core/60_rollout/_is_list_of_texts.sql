-- Whether a JSON value is an array of non-empty texts; absent and null count as empty.
create function pgflow._is_list_of_texts(list jsonb)
returns boolean
language sql
immutable
set search_path = ''
as $$
  select case coalesce(jsonb_typeof(list), 'null')
    when 'null' then true
    when 'array' then not exists (
      select from jsonb_array_elements(list) as e (item)
      where jsonb_typeof(e.item) <> 'string' or e.item = '""')
    else false
  end
$$;
