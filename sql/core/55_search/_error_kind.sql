-- The first line of an error without what differs from run to run: ids become <id>, numbers <n>. At most 200 characters.
create function pgflow._error_kind(error text)
returns text
language sql
immutable
set search_path = ''
as $$
  select left(regexp_replace(regexp_replace(regexp_replace(
    split_part(error, E'\n', 1),
    '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}', '<id>', 'gi'),
    '\m(0x)?(?=[0-9a-f]*[0-9])[0-9a-f]{12,}\M', '<id>', 'gi'),
    '[0-9]+([.][0-9]+)?', '<n>', 'g'), 200)
$$;
