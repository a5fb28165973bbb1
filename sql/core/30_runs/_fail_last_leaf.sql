-- Ends a run whose output does not fit jsonb: the leaf step that completed last fails instead, so that the reason has
-- a place; its task keeps its output. steps: how many steps this call finished. Returns the failed step.
-- Locks: the caller holds the run. Callers: _close_runs.
create function pgflow._fail_last_leaf(run_id uuid, steps int)
returns pgflow._step_ref
language plpgsql
set search_path = ''
as $$
declare
  failed pgflow._step_ref;
begin
  update pgflow.step_states st
  set status = 'failed',
      output = null,
      completed_at = null,
      failed_at = greatest(clock_timestamp(), st.completed_at),
      error_message = '[OUTPUT_TOO_LARGE] the outputs of the leaf steps do not fit into the output of the run'
  where st.run_id = _fail_last_leaf.run_id
    and st.step_slug = (
      select leaf.step_slug
      from pgflow.step_states leaf
      where leaf.run_id = _fail_last_leaf.run_id and leaf.status = 'completed'
        and not exists (
          select
          from pgflow.deps d
          join pgflow.step_states ds on ds.run_id = leaf.run_id and ds.step_slug = d.step_slug
          where d.flow_slug = leaf.flow_slug and d.dep_slug = leaf.step_slug)
      order by leaf.completed_at desc, leaf.step_slug
      limit 1)
  returning st.run_id, st.flow_slug, st.step_slug, st.error_message into failed;

  update pgflow.runs r
  set remaining_steps = r.remaining_steps - steps + 1
  where r.run_id = _fail_last_leaf.run_id;
  return failed;
end
$$;
