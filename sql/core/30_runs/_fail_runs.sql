-- Ends the runs of failed steps and counts what they leave undone. One update a run and call, which is why _close_runs
-- passes these runs over: a row written twice by one transaction has its foreign key checked again, and that would
-- lock the flow after the run, against the lock order. Steps of these runs that were started by the same call have no task yet and never
-- get one: they go back to created. Gives back the opened steps of the other runs.
-- Locks: the caller holds the runs.
create function pgflow._fail_runs(failed pgflow._step_ref[], opened pgflow._step_ref[])
returns pgflow._step_ref[]
language plpgsql
set search_path = ''
as $$
declare
  run_ids uuid[] := array(select distinct f.run_id from unnest(failed) f);
begin
  update pgflow.runs r
  set status = 'failed',
      failed_at = greatest(clock_timestamp(), r.started_at),
      remaining_steps = (
        select count(*)
        from pgflow.step_states st
        where st.run_id = r.run_id and st.status not in ('completed', 'skipped'))
  where r.run_id = any (run_ids) and r.status || '' = 'started';

  update pgflow.step_states st
  set status = 'created',
      remaining_tasks = null,
      started_at = null
  from unnest(opened) o
  where o.run_id = any (run_ids)
    and st.run_id = any (array[o.run_id]) and st.step_slug = o.step_slug and st.status = 'started';

  return array(select o from unnest(opened) o where o.run_id <> all (run_ids));
end
$$;
