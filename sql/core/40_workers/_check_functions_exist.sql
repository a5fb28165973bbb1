-- Refuses names without a row in worker_functions: a fence with a typing error in
-- it fences nothing. Locks: none. Errors: 42704.
create function pgflow._check_functions_exist(function_names text[])
returns void
language plpgsql
set search_path = ''
as $$
declare
  missing text := (
    select string_agg(format('"%s"', n), ', ' order by n)
    from (select distinct n from unnest(function_names) n) given(n)
    where not exists (select from pgflow.worker_functions f where f.function_name = n));
begin
  if missing is not null then
    raise exception 'no such worker function: %', missing
      using errcode = 'undefined_object',
            hint = 'See pgflow.worker_functions; pgflow.insert_worker_function(name) adds one, disabled.';
  end if;
end
$$;
