-- What explains a fence to the reader of a host's log: one line, or null.
-- Locks: none.
create function pgflow._fence_detail(reason text, worker pgflow.workers, stands_by_for text)
returns text
language plpgsql
stable
set search_path = ''
as $$
declare
  pin pgflow.function_pins := pgflow._pin_of(worker.function_name);
  fence text;
begin
  if stands_by_for is not null then
    return format('deployment "%s" waits for this code; it starts when that is applied', stands_by_for);
  elsif reason = 'wrong_modules' then
    return format('deployment "%s" gives function "%s" to hosts that carry exactly %s', pin.deployment, pin.function_name,
                  pgflow._show_module_sets(pin.module_sets));
  elsif reason = 'not_in_manifest' then
    return format('queue "%s" is served by what deployments name, and none names function "%s" for it',
                  lower(worker.queue_name), worker.function_name);
  end if;
  fence := pgflow._open_fence(worker.function_name);
  return case when reason in ('disabled', 'paused') and fence is not null then format('deployment "%s" has fenced it', fence) end;
end
$$;
