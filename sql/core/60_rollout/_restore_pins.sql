-- Puts the pins back that counted before a deployment (_way_back).
-- Locks: none.
create function pgflow._restore_pins(loaded pgflow.deployment_manifest)
returns void
language plpgsql
set search_path = ''
as $$
declare
  was_applied boolean := not pgflow._is_open(loaded);
  back record;
  present pgflow.function_pins;
  earlier pgflow.function_pins;
begin
  for back in select * from pgflow._way_back(loaded) loop
    select p.* into present from pgflow.function_pins p where p.function_name = back.function_name and p.ended_at is null;
    earlier := null;
    if was_applied and present.deployment = loaded.deployment then
      select p.* into earlier from pgflow.function_pins p where p.pin_id = present.replaced_pin;
    elsif present.module_sets is not null and present.unpinned_at is null or back.module_sets is null then
      continue;
    end if;

    update pgflow.function_pins p
    set ended_at = greatest(clock_timestamp(), p.pinned_at)
    where p.pin_id = present.pin_id;
    if earlier.pin_id is not null or back.module_sets is not null then
      insert into pgflow.function_pins (function_name, deployment, queue_name, flow_slug, module_sets, replaced_pin)
      values (
        back.function_name, coalesce(earlier.deployment, loaded.deployment),
        case when earlier.pin_id is not null then earlier.queue_name else back.queue_name end,
        case when earlier.pin_id is not null then earlier.flow_slug else back.flow_slug end,
        back.module_sets, coalesce(earlier.replaced_pin, present.pin_id));
    end if;
  end loop;
end
$$;
