-- Completes the started attempt of a task; the old form, for workers that carry no fence. Returns the task's row as it
-- is afterwards. Late callbacks, and attempts of workers that do carry a fence (claimed_exact), change nothing.
-- Locks: run, task, message.
create function pgflow.complete_task(run_id uuid, step_slug text, task_index int, output jsonb)
returns setof pgflow.step_tasks
language plpgsql
security definer
set search_path = ''
-- planner: keys
as $$
begin
  perform pgflow._apply_results(null, array[run_id], array[step_slug], array[task_index], null,
                                array['completed'], array[coalesce(output, 'null')], null, null);
  return query
    select t.*
    from pgflow.step_tasks t
    where t.run_id = complete_task.run_id and t.step_slug = complete_task.step_slug
      and t.task_index = complete_task.task_index;
end
$$;
