-- Must this worker stop because its function is disabled? An operator's disable
-- (paused_at null) stops every worker of the function. The guard's pause stops a
-- running worker only when it lacks a pair that the pause names, so that one
-- forgotten old host cannot stop the good ones. A function without a row: no.
-- Locks: none.
create function pgflow._must_stop(worker_id uuid, function_name text)
returns boolean
language plpgsql
set search_path = ''
as $$
declare
  f record;
begin
  select wf.enabled, wf.paused_at, wf.pause_reason into f
  from pgflow.worker_functions wf
  where wf.function_name = $2;
  if not found or f.enabled then
    return false;
  elsif f.paused_at is null then
    return true;
  end if;

  return exists (
    select
    from jsonb_to_recordset(coalesce(f.pause_reason -> 'pairs', '[]'))
           as missing("flowSlug" text, "stepSlug" text)
    where not exists (
      select
      from pgflow.worker_task_pairs p
      where p.worker_id = $1
        and p.flow_slug = missing."flowSlug"
        and p.step_slug = missing."stepSlug"
    )
  );
end
$$;
