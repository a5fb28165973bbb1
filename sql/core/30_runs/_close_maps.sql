-- Completes maps whose last task completed: their output is the array of the tasks' outputs in index order, read once
-- per map. An array that does not fit jsonb fails its step for good, as when_exhausted says; the tasks keep their
-- outputs and no handler runs again. Gives back the finished and the failed steps, as _record_results does.
--
-- When the statement raises, each map goes by itself, so that only the one that does not fit suffers.
-- Locks: the caller holds the runs.
create function pgflow._close_maps(
  full_maps pgflow._step_ref[],
  out finished pgflow._step_ref[],
  out failed pgflow._step_ref[]
)
language plpgsql
set search_path = ''
as $$
declare
  map pgflow._step_ref;
  one record;
begin
  begin
    update pgflow.step_states st
    set status = 'completed',
        completed_at = greatest(clock_timestamp(), st.started_at),
        output = (
          select jsonb_agg(o.output)
          from (select t.output
                from pgflow.step_tasks t
                where t.run_id = st.run_id and t.step_slug = st.step_slug
                order by t.task_index) o)
    from unnest(full_maps) m
    where st.run_id = any (array[m.run_id]) and st.step_slug = m.step_slug;
    finished := full_maps;
    failed := '{}';
    return;
  exception when program_limit_exceeded or internal_error then
    if cardinality(full_maps) = 1 then
      select f.finished, f.failed into finished, failed from pgflow._fail_map(full_maps[1], sqlerrm) f;
      return;
    end if;
  end;

  finished := '{}';
  failed := '{}';
  foreach map in array full_maps loop
    select c.finished, c.failed into one from pgflow._close_maps(array[map]) c;
    finished := finished || one.finished;
    failed := failed || one.failed;
  end loop;
end
$$;
