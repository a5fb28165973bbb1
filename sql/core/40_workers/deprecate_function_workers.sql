-- For operators: deprecate_workers, but refused while one of the functions is enabled: its
-- supervisor would start the same code again, and that would serve. Disable it first, in a
-- transaction of its own. force: deprecate nevertheless. Returns how many rows were
-- deprecated.
-- Locks: those of deprecate_workers; enabled is read without a lock, for worker rows are
-- locked before function rows.
-- Errors: 42704, an unknown name; 55000 with the functions.
create function pgflow.deprecate_function_workers(function_names text[], force boolean default false)
returns int
language plpgsql
security definer
set search_path = ''
as $$
begin
  if not coalesce(force, false) then
    perform pgflow._raise_problems('workers are not deprecated', array(
        select format('function "%s" is enabled: what starts its hosts would bring the same code back', f.function_name)
        from pgflow.worker_functions f
        where f.function_name = any (function_names) and f.enabled
        order by f.function_name),
      'object_not_in_prerequisite_state',
      'Disable it first: pgflowctl functions disable NAME. --force (force => true) deprecates its workers nevertheless.');
  end if;
  return pgflow.deprecate_workers(function_names);
end
$$;
