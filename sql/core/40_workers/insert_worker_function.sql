-- For operators, before a deployment: a function that has no row yet gets one,
-- disabled. An existing row is left untouched. True when a row was made.
-- Locks: none on existing rows. Errors: 22023, no name or an unknown start_mode.
create function pgflow.insert_worker_function(function_name text, start_mode text default 'process')
returns boolean
language plpgsql
security definer
set search_path = ''
as $$
begin
  perform pgflow._check_function(function_name, start_mode);
  insert into pgflow.worker_functions (function_name, enabled, start_mode)
  values ($1, false, $2)
  on conflict on constraint worker_functions_pkey do nothing;
  return found;
end
$$;
