-- A run and its step states as {run, steps}, the steps in the order of the definition; null when there is none.
-- A cancelled run has the status failed here, which existing clients can end on, and cancelled: true beside it.
-- The run id is the secret: whoever knows it may read the run. Locks: none.
create function pgflow.get_run_with_states(run_id uuid)
returns jsonb
language plpgsql
stable
security definer
set search_path = ''
-- planner: keys
as $$
begin
  return (
    select jsonb_build_object(
      'run', to_jsonb(r) || case when r.status = 'cancelled'
                                 then '{"status": "failed", "cancelled": true}'::jsonb else '{}' end,
      'steps', coalesce((
        select jsonb_agg(to_jsonb(st) order by s.step_index, st.step_slug)
        from pgflow.step_states st
        left join lateral (
          select x.step_index from pgflow.steps x
          where x.flow_slug = st.flow_slug and x.step_slug = st.step_slug
          offset 0) s on true
        where st.run_id = r.run_id), '[]'))
    from pgflow.runs r
    where r.run_id = get_run_with_states.run_id
  );
end
$$;
