-- The table of a queue: prefix 'q' (live) or 'a' (archive), always lower case.
-- Errors: 22023 for characters that PGMQ refuses. Locks: none.
create function pgmq.format_table_name(queue_name text, prefix text)
returns text
language plpgsql
immutable
set search_path = ''
as $$
begin
  if queue_name ~ '[$]|;|--|''' then
    raise exception 'queue name contains invalid characters: %', queue_name
      using errcode = 'invalid_parameter_value',
            hint = 'Queue names must not contain $, ;, -- or a single quote.';
  end if;
  return lower(prefix || '_' || queue_name);
end
$$;
