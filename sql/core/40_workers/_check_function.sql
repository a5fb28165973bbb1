-- Refuses what cannot be a worker function: no name, or a start_mode that is none. Errors: 22023.
create function pgflow._check_function(function_name text, start_mode text)
returns void
language plpgsql
immutable
set search_path = ''
as $$
begin
  if coalesce(function_name, '') = '' then
    raise exception 'function_name is %', case when function_name is null then 'null' else 'empty' end
      using errcode = 'invalid_parameter_value', hint = 'Give the name under which operators disable and enable it.';
  end if;
  if (start_mode in ('http', 'process')) is not true then
    raise exception 'function "%": start_mode is %', function_name, coalesce('"' || start_mode || '"', 'null')
      using errcode = 'invalid_parameter_value', hint = 'Give http or process.';
  end if;
end
$$;
