-- Whether a worker of this function may start on this queue with these modules, and why
-- not: one row.
--
-- reason       null: it may; disabled; paused (by the guard); wrong_modules; not_in_manifest
-- detail       of the last two, and of disabled and paused while a deployment is open: one
--              line that says which manifest asks for what
-- stands_by_for  the open deployment that waits for this very code: this host is right
--              where it is. Null: none
-- info         as for register_worker; its modules count
-- Locks: none.
create function pgflow.worker_fence(
  function_name text, queue_name text, info jsonb,
  out reason text, out detail text, out stands_by_for text, out paused_at timestamptz, out pause_reason jsonb)
language plpgsql
stable
security definer
set search_path = ''
as $$
declare
  fresh pgflow.workers;
  tracked pgflow.worker_functions;
begin
  fresh.function_name := function_name;
  fresh.queue_name := queue_name;
  fresh.info := info;
  select f.* into tracked from pgflow.worker_functions f where f.function_name = worker_fence.function_name;
  paused_at := tracked.paused_at;
  pause_reason := tracked.pause_reason;
  reason := case when tracked.enabled then pgflow._pin_fence(fresh)
                 when tracked.paused_at is not null then 'paused'
                 else 'disabled' end;
  if reason is not null then
    stands_by_for := pgflow._awaiting_deployment(function_name, info -> 'modules');
    detail := pgflow._fence_detail(reason, fresh, stands_by_for);
  end if;
end
$$;
