-- Why this worker may not claim from this queue; null: it may.
-- unknown | deprecated | stopped | standby | other_queue | must_stop | wrong_modules |
-- not_in_manifest (the last two are _pin_fence's; a host of 0.1 is told must_stop instead,
-- whereupon it stands by).
-- worker: the row as the caller read or locked it; all null when there is none.
-- Locks: none.
create function pgflow._fence_reason(worker pgflow.workers, queue_name text)
returns text
language plpgsql
set search_path = ''
as $$
declare
  pin_fence text;
begin
  if worker.worker_id is null then
    return 'unknown';
  elsif worker.deprecated_at is not null then
    return 'deprecated';
  elsif worker.stopped_at is not null then
    return 'stopped';
  elsif worker.standby then
    return 'standby';
  elsif lower(worker.queue_name) <> lower(queue_name) then
    return 'other_queue';
  elsif pgflow._must_stop(worker.worker_id, worker.function_name) then
    return 'must_stop';
  end if;
  pin_fence := pgflow._pin_fence(worker);
  return case when pin_fence is null or pgflow._knows_pins(worker.info) then pin_fence else 'must_stop' end;
end
$$;
