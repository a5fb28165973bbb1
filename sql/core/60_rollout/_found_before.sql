-- What a fence finds, for the way back: {at, functions: [{functionName, existed, enabled,
-- pausedAt, pauseReason, moduleSets}], aliases: {alias: active flow}}. moduleSets are those
-- of the workers that work now, each once: without an earlier pin they say what the old
-- code is.
-- Locks: none.
create function pgflow._found_before(loaded pgflow.deployment_manifest, moment timestamptz)
returns jsonb
language sql
stable
set search_path = ''
as $$
  select jsonb_build_object(
    'at', moment,
    'functions', (
      select coalesce(jsonb_agg(jsonb_build_object(
        'functionName', e.function_name, 'existed', f.function_name is not null, 'enabled', coalesce(f.enabled, false),
        'pausedAt', f.paused_at, 'pauseReason', f.pause_reason, 'moduleSets', pgflow._module_sets_at_work(e.function_name))), '[]')
      from pgflow._manifest_entries(loaded.manifest) as e
      left join pgflow.worker_functions f on f.function_name = e.function_name),
    'aliases', (
      select coalesce(jsonb_object_agg(a.alias, a.active_flow_slug), '{}')
      from pgflow.flow_aliases a))
$$;
