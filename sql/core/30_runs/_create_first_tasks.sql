-- Creates the tasks of one new run whose root steps are all plain, and sends their messages. Returns the queues on
-- which one is visible now (a start delay makes it visible later). _create_tasks does the same for any steps of any
-- runs; for one task it takes twice as long.
-- Locks: none; the caller made the run.
create function pgflow._create_first_tasks(run_id uuid, plan pgflow._plan)
returns text[]
language plpgsql
set search_path = ''
as $$
declare
  step pgflow._plan_step;
  woken text[];
begin
  foreach step in array plan.steps loop
    continue when not step.starts;
    insert into pgflow.step_tasks (flow_slug, run_id, step_slug, task_index, queue_name, message_id)
    select plan.flow_slug, _create_first_tasks.run_id, step.step_slug, 0, step.queue_name, m.message_id
    from pgmq.send(step.queue_name,
                   jsonb_build_object('flow_slug', plan.flow_slug, 'run_id', _create_first_tasks.run_id,
                                      'step_slug', step.step_slug, 'task_index', 0),
                   null::jsonb, clock_timestamp() + make_interval(secs => step.delay)) as m (message_id);
    if step.delay = 0 then
      woken := woken || step.queue_name;
    end if;
  end loop;
  return woken;
end
$$;
