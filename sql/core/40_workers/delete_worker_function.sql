-- Takes a worker function off the list: one that was tried, renamed or retired. Refused (55000) while it is enabled or
-- has a live worker, and while an applied manifest pins it to modules.
-- Its stopped workers' rows go as ever, by maintain(). A host that starts under the name makes a new row, enabled.
-- Returns whether there was one. Locks: the function row. Errors: object_not_in_prerequisite_state.
create function pgflow.delete_worker_function(name text)
returns boolean
language plpgsql
set search_path = ''
as $$
declare
  found_function pgflow.worker_functions;
begin
  select f.* into found_function from pgflow.worker_functions f where f.function_name = name for update;
  if not found then
    return false;
  end if;
  if found_function.enabled then
    raise exception 'worker function "%" is enabled', name
      using errcode = 'object_not_in_prerequisite_state', hint = 'Disable it first: pgflowctl functions disable ' || name;
  end if;
  if exists (select from pgflow.workers w where w.function_name = name and pgflow._is_live(w)) then
    raise exception 'worker function "%" has live workers', name
      using errcode = 'object_not_in_prerequisite_state',
            hint = 'Stop its hosts first; pgflowctl workers lists them.';
  end if;
  if exists (
    select from pgflow.function_pins p
    where p.function_name = name and p.ended_at is null and p.unpinned_at is null and p.module_sets is not null) then
    raise exception 'worker function "%" is named by an applied manifest', name
      using errcode = 'object_not_in_prerequisite_state',
            hint = 'Apply a manifest that retires it, or: pgflowctl functions unpin ' || name;
  end if;
  delete from pgflow.worker_functions f where f.function_name = name;
  return true;
end
$$;
