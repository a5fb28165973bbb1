-- Recovery, on the side: started tasks past their deadline whose run or step has ended go, at most at_most of them a
-- round, so that no later round reads them again. Returns their number.
-- Locks: the task rows by skip locked, then their messages.
create function pgflow._end_stray_tasks(at_most int)
returns int
language plpgsql
set search_path = ''
-- planner: loops
set jit = off
as $$
declare
  moment constant timestamptz := clock_timestamp();
  lowest constant timestamptz := pgflow._low_water(pgflow._low_water_name('stalled'), moment);
  locked record;
begin
  with leftover as (
    select t.run_id, t.step_slug, t.task_index
    from pgflow.step_tasks t
    where t.status = 'started' and t.recover_at between lowest and moment
      and not (
        exists (select from pgflow.runs r where r.run_id = any (array[t.run_id]) and r.status || '' = 'started')
        and exists (
          select from pgflow.step_states ss
          where ss.run_id = any (array[t.run_id]) and ss.step_slug = t.step_slug
            and ss.status not in ('completed', 'failed', 'skipped')))
    order by t.recover_at
    limit at_most
    for update of t skip locked
  )
  select array_agg(s.run_id) as run_ids, array_agg(s.step_slug) as step_slugs,
         array_agg(s.task_index) as task_indexes
  into locked
  from leftover s;
  return pgflow._end_strays(locked.run_ids, locked.step_slugs, locked.task_indexes);
end
$$;
