-- For operators: lets any code serve a function that a manifest pinned, until the next
-- manifest that names it is applied: the way out for a hot fix. The row says who lifted
-- the pin, and when. False: it was not pinned. Hosts that stand by for it notice.
-- Locks: the function row. Errors: 42704, an unknown name.
create function pgflow.unpin_worker_function(name text)
returns boolean
language plpgsql
security definer
set search_path = ''
as $$
begin
  perform pgflow._check_functions_exist(array[name]);
  perform from pgflow.worker_functions f where f.function_name = $1 for no key update;
  update pgflow.function_pins p
  set unpinned_at = greatest(clock_timestamp(), p.pinned_at), unpinned_by = session_user
  where p.function_name = $1 and p.ended_at is null and p.unpinned_at is null and p.module_sets is not null;
  if not found then
    return false;
  end if;
  perform pgflow._tell_hosts(array[name]);
  return true;
end
$$;
