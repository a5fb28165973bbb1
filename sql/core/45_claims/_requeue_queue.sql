-- Recovery of one queue: started tasks past their deadline go back to queued, at
-- most at_most of them, their messages visible at once. The claim number moves
-- on, so a late result of the lost attempt is fenced off; the attempt stays counted.
-- Returns the number requeued.
-- Locks: the task rows by skip locked (a locked one is being finished or claimed),
-- then their messages.
create function pgflow._requeue_queue(queue_name text, at_most int)
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
  requeued record;
begin
  with candidates as (
    select t.run_id, t.step_slug, t.task_index
    from pgflow.step_tasks t
    where t.status = 'started' and t.recover_at between lowest and moment
      and t.requeued_count < 3 and t.queue_name = $1
      -- Before the limit: tasks that cannot be recovered must not keep out those that can.
      and exists (select from pgflow.runs r where r.run_id = t.run_id and r.status || '' = 'started' offset 0)
      and exists (
        select from pgflow.step_states ss
        where ss.run_id = t.run_id and ss.step_slug = t.step_slug and ss.status = 'started'
        offset 0)
    order by t.recover_at
    limit at_most
    for update of t skip locked
  )
  select array_agg(c.run_id) as run_ids, array_agg(c.step_slug) as step_slugs,
         array_agg(c.task_index) as task_indexes
  into locked
  from candidates c;

  with changed as (
    update pgflow.step_tasks t
    set status = 'queued',
        started_at = null,
        recover_at = null,
        claim_no = t.claim_no + 1,
        requeued_count = t.requeued_count + 1,
        last_requeued_at = clock_timestamp()
    from unnest(locked.run_ids, locked.step_slugs, locked.task_indexes)
           as l(run_id, step_slug, task_index)
    where t.run_id = any (array[l.run_id]) and t.step_slug = l.step_slug and t.task_index = l.task_index
      and exists (select from pgflow.runs r where r.run_id = t.run_id and r.status || '' = 'started' offset 0)
      and exists (
        select from pgflow.step_states ss
        where ss.run_id = t.run_id and ss.step_slug = t.step_slug and ss.status = 'started'
        offset 0)
    returning t.run_id, t.step_slug, t.task_index, t.queue_name, t.message_id
  )
  select array_agg(c.run_id) as run_ids, array_agg(c.step_slug) as step_slugs,
         array_agg(c.task_index) as task_indexes, array_agg(c.queue_name) as queue_names,
         array_agg(c.message_id) as message_ids, count(*)::int as how_many
  into requeued
  from changed c;

  if requeued.how_many > 0 then
    perform pgflow._notify(pgflow._show_tasks(
      requeued.run_ids, requeued.step_slugs, requeued.task_indexes, requeued.queue_names,
      requeued.message_ids, array_fill(0, array[requeued.how_many])));
  end if;
  return requeued.how_many;
end
$$;
