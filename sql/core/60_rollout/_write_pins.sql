-- Makes what a manifest says of its functions count from now on: one row an entry, in
-- place of what an earlier manifest said. A keep-draining that names no modules keeps the
-- pin that is in force.
-- Locks: none; the caller holds the function rows.
create function pgflow._write_pins(loaded pgflow.deployment_manifest)
returns void
language plpgsql
set search_path = ''
as $$
declare
  entry record;
  earlier pgflow.function_pins;
begin
  for entry in select * from pgflow._manifest_pins(loaded.manifest) loop
    update pgflow.function_pins p
    set ended_at = greatest(clock_timestamp(), p.pinned_at)
    where p.function_name = entry.function_name and p.ended_at is null
    returning p.* into earlier;

    insert into pgflow.function_pins (function_name, deployment, queue_name, flow_slug, module_sets, replaced_pin)
    values (
      entry.function_name, loaded.deployment, entry.queue_name, entry.flow_slug,
      case when entry.module_sets is not null then entry.module_sets
           when entry.action = 'keep-draining' and earlier.unpinned_at is null then earlier.module_sets end,
      -- Applied once more: back is still what was there before the deployment.
      case when earlier.deployment = loaded.deployment then earlier.replaced_pin else earlier.pin_id end);
  end loop;
end
$$;
