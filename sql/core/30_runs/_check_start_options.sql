-- Raises 22023 unless the options of a start are an object with known keys. Null is none.
create function pgflow._check_start_options(options jsonb)
returns void
language plpgsql
immutable
set search_path = ''
as $$
declare
  bad text;
begin
  if options is null then
    return;
  elsif jsonb_typeof(options) <> 'object' then
    raise exception 'the options of a start are of type %', jsonb_typeof(options)
      using errcode = 'invalid_parameter_value', hint = 'Give an object, as in {"idempotencyKey": "order-17"}.';
  end if;
  select k.key into bad from jsonb_object_keys(options) as k (key) where k.key <> 'idempotencyKey' order by 1 limit 1;
  if found then
    raise exception 'a start has no option "%"', bad
      using errcode = 'invalid_parameter_value', hint = 'The option is idempotencyKey.';
  end if;
end
$$;
