-- Creates the tasks of started maps that have none yet for their element, and sends their messages. Returns the queues
-- on which one is visible now. _create_tasks, which looks for no tasks that are there, serves everything but a resume.
-- Locks: none; the caller made the runs.
create function pgflow._create_missing_tasks(maps pgflow._step_ref[])
returns text[]
language plpgsql
set search_path = ''
as $$
declare
  woken text[];
  tasks_made bigint;
begin
  with task as (
    select s.queue_name, coalesce(s.opt_start_delay, 0) as delay, m.place, m.run_id, m.flow_slug, m.step_slug,
           (e.place - 1)::int as task_index, e.element
    from unnest(maps) with ordinality as m (run_id, flow_slug, step_slug, note, place)
    cross join lateral (
      select x.queue_name, x.opt_start_delay, x.deps_count
      from pgflow.steps x
      where x.flow_slug = m.flow_slug and x.step_slug = m.step_slug
      offset 0) s
    cross join lateral jsonb_array_elements(case
      when s.deps_count = 0 then (select r.input from pgflow.runs r where r.run_id = m.run_id)
      else (
        select ds.output
        from pgflow.deps d
        cross join lateral (
          select x.output from pgflow.step_states x where x.run_id = m.run_id and x.step_slug = d.dep_slug offset 0) ds
        where d.flow_slug = m.flow_slug and d.step_slug = m.step_slug) end) with ordinality as e (element, place)
    where not exists (
      select from pgflow.step_tasks t
      where t.run_id = m.run_id and t.step_slug = m.step_slug and t.task_index = e.place - 1
      offset 0)
  ), batch as materialized (
    select t.queue_name, t.delay,
           array_agg(row(t.flow_slug, t.run_id, t.step_slug, t.task_index, t.element)::pgflow._new_task) as tasks,
           array_agg(jsonb_build_object('flow_slug', t.flow_slug, 'run_id', t.run_id,
                                        'step_slug', t.step_slug, 'task_index', t.task_index)) as bodies
    from (select * from task order by queue_name, delay, place, task_index) t
    group by t.queue_name, t.delay
  ), made as (
    insert into pgflow.step_tasks (flow_slug, run_id, step_slug, task_index, queue_name, message_id, input)
    select sent.flow_slug, sent.run_id, sent.step_slug, sent.task_index, b.queue_name, sent.message_id, sent.input
    from batch b
    cross join lateral rows from (
      unnest(b.tasks),
      pgmq.send_batch(b.queue_name, b.bodies, null::jsonb[], clock_timestamp() + make_interval(secs => b.delay))
    ) as sent (flow_slug, run_id, step_slug, task_index, input, message_id)
    returning 1
  )
  select array_agg(distinct b.queue_name) filter (where b.delay = 0), (select count(*) from made)
  into woken, tasks_made
  from batch b;
  return woken;
end
$$;
