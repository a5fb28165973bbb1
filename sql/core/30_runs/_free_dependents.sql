-- Tells the dependents of finished steps: counts down remaining_deps and starts at once the plain ones (single, no
-- condition) that waited for nothing else. Gives back those as opened, and as ready the others that need a decision.
-- Runs that fail in the same call are left as they are.
-- Locks: the caller holds the runs.
create function pgflow._free_dependents(
  finished pgflow._step_ref[],
  failed pgflow._step_ref[],
  out opened pgflow._step_ref[],
  out ready pgflow._step_ref[]
)
language plpgsql
set search_path = ''
as $$
begin
  with dependent as materialized (
    select f.run_id, d.flow_slug, d.step_slug, count(*)::int as freed
    from unnest(finished) f
    cross join lateral (
      select x.flow_slug, x.step_slug
      from pgflow.deps x
      where x.flow_slug = f.flow_slug and x.dep_slug = f.step_slug
      offset 0
    ) d
    where f.run_id <> all (array(select x.run_id from unnest(failed) x))
    group by f.run_id, d.flow_slug, d.step_slug
  ), known as materialized (
    select d.run_id, d.step_slug, d.freed, s.is_plain
    from dependent d
    cross join lateral (
      select x.step_type = 'single' and x.required_input_pattern is null
               and x.forbidden_input_pattern is null as is_plain
      from pgflow.steps x
      where x.flow_slug = d.flow_slug and x.step_slug = d.step_slug
      offset 0
    ) s
  ), told as (
    update pgflow.step_states st
    set remaining_deps = st.remaining_deps - d.freed,
        status = case when d.freed = st.remaining_deps and d.is_plain then 'started' else st.status end,
        remaining_tasks = case when d.freed = st.remaining_deps and d.is_plain then 1 end,
        started_at = case when d.freed = st.remaining_deps and d.is_plain
                          then greatest(clock_timestamp(), st.created_at) end
    from known d
    where st.run_id = any (array[d.run_id]) and st.step_slug = d.step_slug and st.status = 'created'
    returning st.run_id, st.flow_slug, st.step_slug, st.status, st.remaining_deps
  )
  select coalesce(array_agg(row(t.run_id, t.flow_slug, t.step_slug, null)::pgflow._step_ref)
                    filter (where t.status = 'started'), '{}'),
         coalesce(array_agg(row(t.run_id, t.flow_slug, t.step_slug, null)::pgflow._step_ref)
                    filter (where t.status = 'created' and t.remaining_deps = 0), '{}')
  into opened, ready
  from told t;
end
$$;
