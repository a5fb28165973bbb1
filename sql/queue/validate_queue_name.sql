-- Refuses a queue name that is empty or longer than 47 bytes: its tables and
-- indexes must keep their names within PostgreSQL's 63 bytes.
-- Errors: 22023. Locks: none.
create function pgmq.validate_queue_name(queue_name text)
returns void
language plpgsql
immutable
set search_path = ''
as $$
begin
  if queue_name is null or queue_name = '' then
    raise exception 'queue name is empty'
      using errcode = 'invalid_parameter_value',
            hint = 'Give a name of 1 to 47 bytes.';
  end if;
  if octet_length(queue_name) > 47 then
    raise exception 'queue name is too long, maximum length is 47 bytes: % (% bytes)',
        queue_name, octet_length(queue_name)
      using errcode = 'invalid_parameter_value',
            hint = 'Give a shorter name.';
  end if;
end
$$;
