-- Whether the applied manifests let this working worker go on; when a pin came after its
-- registration and its modules are right, that is noted, and its claims need not compare
-- them any more.
-- Locks: the worker's row, which the heartbeat holds.
create function pgflow._admit(worker pgflow.workers)
returns boolean
language plpgsql
set search_path = ''
as $$
declare
  current_pin bigint := (pgflow._pin_of(worker.function_name)).pin_id;
begin
  if pgflow._pin_fence(worker) is not null then
    return false;
  end if;
  if worker.admitted_pin is distinct from current_pin then
    update pgflow.workers w set admitted_pin = current_pin where w.worker_id = worker.worker_id;
  end if;
  return true;
end
$$;
