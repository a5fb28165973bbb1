-- Skips whatever depends, directly or not, on the finished steps that take their downstream with them (note
-- 'cascade'). Runs that fail in the same call are left as they are. Returns the skipped steps.
-- Locks: the caller holds the runs.
create function pgflow._skip_downstream(finished pgflow._step_ref[], failed pgflow._step_ref[])
returns pgflow._step_ref[]
language plpgsql
set search_path = ''
as $$
declare
  fallen pgflow._step_ref[];
begin
  if not exists (select from unnest(finished) f where f.note = 'cascade') then
    return '{}';
  end if;

  with recursive downstream as (
    select f.run_id, d.flow_slug, d.step_slug
    from unnest(finished) f
    cross join lateral (
      select x.flow_slug, x.step_slug from pgflow.deps x
      where x.flow_slug = f.flow_slug and x.dep_slug = f.step_slug
      offset 0) d
    where f.note = 'cascade' and f.run_id <> all (array(select x.run_id from unnest(failed) x))
    union
    select up.run_id, d.flow_slug, d.step_slug
    from downstream up
    cross join lateral (
      select x.flow_slug, x.step_slug from pgflow.deps x
      where x.flow_slug = up.flow_slug and x.dep_slug = up.step_slug
      offset 0) d
  ), skipped as (
    update pgflow.step_states st
    set status = 'skipped',
        skip_reason = 'dependency_skipped',
        skipped_at = greatest(clock_timestamp(), st.created_at)
    from downstream d
    where st.run_id = any (array[d.run_id]) and st.step_slug = d.step_slug and st.status = 'created'
    returning st.run_id, st.flow_slug, st.step_slug
  )
  select array_agg(row(s.run_id, s.flow_slug, s.step_slug, null)::pgflow._step_ref) into fallen from skipped s;
  return coalesce(fallen, '{}');
end
$$;
