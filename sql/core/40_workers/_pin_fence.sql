-- Why the applied manifests keep this worker from its queue; null: they do not.
--
-- wrong_modules     its function is pinned, and it carries none of the given module sets
-- not_in_manifest   the queue has a pinned function, and no applied manifest names this
--                   worker's function for the queue: an old host under another name
-- worker: the row as the caller read it, or is about to make it. admitted_pin spares the
-- comparison of modules: it is the pin under which they were found right.
--
-- Every claim comes here. A function that a manifest names costs one look-up, another
-- one two more; the settings keep these plans whatever the statistics say.
-- Locks: none.
create function pgflow._pin_fence(worker pgflow.workers)
returns text
language plpgsql
set search_path = ''
-- planner: loops
set enable_bitmapscan = off
as $$
declare
  pin pgflow.function_pins;
  canonical text := lower(worker.queue_name);
begin
  select p.* into pin
  from pgflow.function_pins p
  where p.function_name = worker.function_name and p.ended_at is null;
  if found then
    if pin.module_sets is not null and pin.unpinned_at is null
      and worker.admitted_pin is distinct from pin.pin_id
      and not pgflow._carries_one_of(worker.info -> 'modules', pin.module_sets) then
      return 'wrong_modules';
    end if;
    if pin.queue_name = canonical then
      return null;
    elsif exists (select from pgflow.steps s where s.queue_name = canonical and s.flow_slug = pin.flow_slug) then
      return null;
    end if;
  end if;

  -- The queue's pinned functions: those named for it, and those named for a flow with a step there.
  if exists (
      select
      from pgflow.function_pins p
      where p.queue_name = canonical and p.ended_at is null and p.unpinned_at is null and p.module_sets is not null)
    or exists (
      select
      from pgflow.function_pins p
      cross join lateral (
        select from pgflow.steps s where s.queue_name = canonical and s.flow_slug = p.flow_slug limit 1) as s
      where p.flow_slug > '' and p.ended_at is null and p.unpinned_at is null and p.module_sets is not null) then
    return 'not_in_manifest';
  end if;
  return null;
end
$$;
