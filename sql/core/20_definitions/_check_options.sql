-- Raises 22023 when an option of a flow or step is out of range; null is fine.
-- thing: how the message names it, such as: step "a" of flow "f".
create function pgflow._check_options(
  thing text,
  max_attempts int,
  base_delay int,
  timeout int,
  start_delay int
)
returns void
language plpgsql
immutable
set search_path = ''
as $$
declare
  bad record;
begin
  select o.* into bad
  from (values
    ('max_attempts', max_attempts, 0, 1000),
    ('base_delay', base_delay, 0, 86400),
    ('timeout', timeout, 1, 604800),
    ('start_delay', start_delay, 0, 31536000)
  ) as o (name, given, lowest, highest)
  where o.given not between o.lowest and o.highest
  limit 1;

  if found then
    raise exception '%: % is %', thing, bad.name, bad.given
      using errcode = 'invalid_parameter_value',
            hint = format('It must be from %s to %s.', bad.lowest, bad.highest);
  end if;
end
$$;
