-- Creates the tasks of steps that were just started and sends their messages. Returns the queues on which one is
-- visible now (a start delay makes it visible later).
--
-- One pass over the array of a map gives each task its element, whatever N is. Tasks are grouped by queue and delay;
-- the ids that send_batch returns come in the order of its bodies, so `rows from` puts them beside their tasks
-- without a join.
-- Locks: none; the caller holds the runs.
create function pgflow._create_tasks(opened pgflow._step_ref[])
returns text[]
language plpgsql
set search_path = ''
as $$
declare
  woken text[];
  tasks_made bigint;
begin
  with task as (
    select s.queue_name, coalesce(s.opt_start_delay, 0) as delay, o.place, o.run_id, o.flow_slug, o.step_slug,
           e.task_index, e.input
    from unnest(opened) with ordinality as o (run_id, flow_slug, step_slug, note, place)
    cross join lateral (
      select x.queue_name, x.opt_start_delay, x.step_type, x.deps_count
      from pgflow.steps x
      where x.flow_slug = o.flow_slug and x.step_slug = o.step_slug
      offset 0
    ) s
    cross join lateral (
      select 0 as task_index, null::jsonb as input
      where s.step_type = 'single'
      union all
      select (a.place - 1)::int, a.element
      from jsonb_array_elements(case when s.step_type <> 'map' then null
        when s.deps_count = 0 then (select r.input from pgflow.runs r where r.run_id = o.run_id)
        else (
          select ds.output
          from pgflow.deps d
          cross join lateral (
            select x.output from pgflow.step_states x where x.run_id = o.run_id and x.step_slug = d.dep_slug offset 0) ds
          where d.flow_slug = o.flow_slug and d.step_slug = o.step_slug) end) with ordinality as a (element, place)
    ) e
  ), batch as materialized (
    select t.queue_name, t.delay,
           array_agg(row(t.flow_slug, t.run_id, t.step_slug, t.task_index, t.input)::pgflow._new_task) as tasks,
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
