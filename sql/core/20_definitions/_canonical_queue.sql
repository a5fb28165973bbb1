-- The canonical spelling of a queue name: lower case.
-- Errors: 22023 over 47 bytes (PGMQ's limit, which leaves room for its prefixes),
--         or with characters other than letters, digits, _ and single -.
create function pgflow._canonical_queue(queue_name text)
returns text
language plpgsql
immutable
set search_path = ''
as $$
declare
  name text := lower(queue_name);
begin
  if octet_length(name) > 47 then
    raise exception 'queue name "%" has % bytes; the limit is 47', name, octet_length(name)
      using errcode = 'invalid_parameter_value',
            hint = 'Use a shorter flow or step slug, or route the step to a queue with a shorter name.';
  end if;
  if name is null or name !~ '^[a-z0-9_]+(-[a-z0-9_]+)*$' then
    raise exception 'queue name "%" is not valid', coalesce(queue_name, '(null)')
      using errcode = 'invalid_parameter_value',
            hint = 'Use letters, digits, _ and single hyphens between them.';
  end if;
  return name;
end
$$;
