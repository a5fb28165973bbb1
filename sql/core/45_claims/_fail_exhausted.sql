-- Recovery, first half: tasks that stalled once more after being requeued three
-- times fail for good, through the normal path (when_exhausted decides), run by
-- run in lock order. Each run in a subtransaction: one that raises is reported as
-- a warning and stops nobody else. A run that is locked is left for the next round.
-- Every exhausted run is a candidate, so that one which raises each round cannot
-- keep the others out; at_most bounds the tasks handled. Returns their number.
-- Locks: the run (skip locked), then what _fail_stalled takes, which looks again
-- under its locks.
create function pgflow._fail_exhausted(at_most int)
returns int
language plpgsql
set search_path = ''
as $$
declare
  moment constant timestamptz := clock_timestamp();
  lowest constant timestamptz := pgflow._low_water(pgflow._low_water_name('stalled'), moment);
  one record;
  handled int := 0;
begin
  for one in
    select t.run_id,
           (array_agg(t.step_slug order by t.step_slug, t.task_index))[1:at_most] as step_slugs,
           (array_agg(t.task_index order by t.step_slug, t.task_index))[1:at_most] as task_indexes
    from (
      select x.run_id, x.step_slug, x.task_index
      from pgflow.step_tasks x
      where x.status = 'started' and x.recover_at between lowest and moment and x.requeued_count >= 3
      offset 0
    ) t
    group by t.run_id
    order by t.run_id
  loop
    exit when handled >= at_most;
    begin
      perform from pgflow.runs r
      where r.run_id = one.run_id and r.status || '' = 'started'
      for no key update skip locked;
      if found then
        perform pgflow._fail_stalled(
          array_fill(one.run_id, array[cardinality(one.step_slugs)]), one.step_slugs,
          one.task_indexes,
          '[STALLED] no worker finished the task, and it was requeued 3 times');
        handled := handled + cardinality(one.step_slugs);
      end if;
    exception when others then
      raise warning 'recovery: run % could not be failed as stalled: % (%)', one.run_id, sqlerrm, sqlstate;
    end;
  end loop;
  return handled;
end
$$;
