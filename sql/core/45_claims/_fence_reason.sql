-- Why this worker may not claim from this queue; null: it may.
-- unknown | deprecated | stopped | standby | other_queue | must_stop.
-- worker: the row as the caller read or locked it; all null when there is none.
-- Callers: claim_tasks, read_and_claim_tasks, before and after they lock the row.
-- Locks: none.
create function pgflow._fence_reason(worker pgflow.workers, queue_name text)
returns text
language plpgsql
set search_path = ''
as $$
begin
  return case
    when worker.worker_id is null then 'unknown'
    when worker.deprecated_at is not null then 'deprecated'
    when worker.stopped_at is not null then 'stopped'
    when worker.standby then 'standby'
    when lower(worker.queue_name) <> lower(queue_name) then 'other_queue'
    when pgflow._must_stop(worker.worker_id, worker.function_name) then 'must_stop'
  end;
end
$$;
