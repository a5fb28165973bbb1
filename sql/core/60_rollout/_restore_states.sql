-- Gives the functions of a deployment the states that its fence found. A pause that the
-- guard wrote since stays, and so does one that the fence found. Returns what an operator
-- should know, as readable lines.
-- Locks: none.
create function pgflow._restore_states(loaded pgflow.deployment_manifest)
returns text[]
language plpgsql
set search_path = ''
as $$
begin
  update pgflow.worker_functions f
  set enabled = b.enabled,
      paused_at = case when not b.enabled then b.paused_at end,
      pause_reason = case when not b.enabled then b.pause_reason end,
      updated_at = greatest(clock_timestamp(), f.updated_at)
  from pgflow._way_back(loaded) as b
  where f.function_name = b.function_name
    -- What is not fenced was not touched before the apply.
    and (b.is_fenced or not pgflow._is_open(loaded))
    and (f.paused_at is null or f.paused_at < loaded.fenced_at);
  perform pgflow._tell_hosts(array(select b.function_name from pgflow._way_back(loaded) as b));

  return array(
    select case when f.paused_at is not null then format('function "%s" stays paused by the guard', f.function_name)
                when f.enabled then format('function "%s" is enabled%s', f.function_name, case when b.module_sets is not null
                  then ', for hosts that carry exactly ' || pgflow._show_module_sets(b.module_sets) else '' end)
                else format('function "%s" is disabled, as it was', f.function_name) end
    from pgflow._way_back(loaded) as b
    join pgflow.worker_functions f on f.function_name = b.function_name
    order by f.function_name);
end
$$;
