-- Where an abort takes each function of a deployment: the state that the fence found, and
-- the code that is to serve it again.
--
-- is_fenced     new code may run under it, so it goes back by a fence of its own: what is
--               replaced or added, and a keep-draining whose pin was changed
-- enabled, paused_at, pause_reason   as the fence found them; a function that had no row
--               stays, disabled
-- module_sets   the earlier pin; without one the modules that worked at the fence, because
--               the new hosts that stand by would start otherwise. Null: nothing worked
-- Functions that a later deployment took over are not this one's to take back.
-- Locks: none.
create function pgflow._way_back(loaded pgflow.deployment_manifest)
returns table (
  function_name text, flow_slug text, queue_name text, action text, is_fenced boolean, enabled boolean,
  paused_at timestamptz, pause_reason jsonb, module_sets jsonb)
language sql
stable
set search_path = ''
as $$
  select e.function_name, e.flow_slug, e.queue_name, e.action,
         e.action in ('replace', 'add')
           or (e.action = 'keep-draining' and e.module_sets is not null and e.module_sets is distinct from earlier.module_sets),
         (b.was ->> 'enabled')::boolean,
         (b.was ->> 'pausedAt')::timestamptz,
         nullif(b.was -> 'pauseReason', 'null'),
         coalesce(earlier.module_sets, case when e.action = 'replace' then nullif(b.was -> 'moduleSets', 'null') end)
  from pgflow._own_entries(loaded) as e
  join jsonb_array_elements(loaded.before_fence -> 'functions') as b (was) on b.was ->> 'functionName' = e.function_name
  left join pgflow.function_pins p on p.function_name = e.function_name and p.ended_at is null
  left join lateral (
    select x.module_sets
    from pgflow.function_pins x
    where x.unpinned_at is null
      and x.pin_id = case when loaded.aborting_at is null and not pgflow._is_open(loaded) and p.deployment = loaded.deployment
                       then p.replaced_pin else p.pin_id end
  ) as earlier on true
$$;
