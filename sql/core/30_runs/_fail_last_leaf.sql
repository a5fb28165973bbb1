-- Fails the leaf step that completed last, in a run whose output does not fit jsonb, so that the reason has a place; its
-- task keeps its output. Returns the failed step, which fails the run (_fail_runs).
-- Locks: the caller holds the run.
create function pgflow._fail_last_leaf(run_id uuid)
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
          cross join lateral (
            select from pgflow.step_states x where x.run_id = leaf.run_id and x.step_slug = d.step_slug offset 0) ds
          where d.flow_slug = leaf.flow_slug and d.dep_slug = leaf.step_slug
          offset 0)
      order by leaf.completed_at desc, leaf.step_slug
      limit 1)
  returning st.run_id, st.flow_slug, st.step_slug, st.error_message into failed;
  return failed;
end
$$;
