-- Counts finished steps down from their runs and completes the runs that have none left: output is the object of the
-- completed leaf steps' outputs. Gives back the steps that failed here: only when that object does not fit jsonb.
--
-- One subtransaction a call, not one a run. When the statement raises, each run goes by itself, so that only the one
-- whose output does not fit fails.
-- Locks: the caller holds the runs.
create function pgflow._close_runs(closed pgflow._step_ref[])
returns pgflow._step_ref[]
language plpgsql
set search_path = ''
as $$
declare
  run_ids uuid[];
  failed pgflow._step_ref[] := '{}';
  run uuid;
begin
  if cardinality(closed) = 0 then
    return '{}';
  end if;

  begin
    update pgflow.runs r
    set remaining_steps = r.remaining_steps - n.steps,
        status = case when r.remaining_steps = n.steps then 'completed' else r.status end,
        completed_at = case when r.remaining_steps = n.steps then greatest(clock_timestamp(), r.started_at) end,
        output = case when r.remaining_steps = n.steps then (
          select coalesce(jsonb_object_agg(st.step_slug, st.output), '{}')
          from pgflow.step_states st
          where st.run_id = r.run_id and st.status = 'completed'
            and not exists (
              select
              from pgflow.deps d
              cross join lateral (
                select from pgflow.step_states x where x.run_id = st.run_id and x.step_slug = d.step_slug offset 0) ds
              where d.flow_slug = st.flow_slug and d.dep_slug = st.step_slug
              offset 0)) end
    from (select c.run_id, count(*)::int as steps from unnest(closed) c group by c.run_id) n
    where r.run_id = any (array[n.run_id]);
    return '{}';
  exception when program_limit_exceeded or internal_error then
    run_ids := array(select distinct c.run_id from unnest(closed) c order by 1);
  end;

  if cardinality(run_ids) = 1 then
    return array[pgflow._fail_last_leaf(run_ids[1])];
  end if;
  foreach run in array run_ids loop
    failed := failed || pgflow._close_runs(array(select c from unnest(closed) c where c.run_id = run));
  end loop;
  return failed;
end
$$;
