-- Locks the earlier row of a process that registers anew; false when that row is
-- deprecated or missing, so that the process is superseded: a fence that was
-- used while it was away counts for its next registration too.
-- Locks: the worker row.
create function pgflow._lock_predecessor(predecessor uuid)
returns boolean
language plpgsql
set search_path = ''
as $$
begin
  perform from pgflow.workers w where w.worker_id = predecessor for no key update;
  return exists (
    select from pgflow.workers w where w.worker_id = predecessor and w.deprecated_at is null);
end
$$;
