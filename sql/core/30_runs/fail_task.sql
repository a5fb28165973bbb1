-- Fails the started attempt of a task; the old form, for workers that carry no fence. Tries again while attempts are
-- left, after retry_after seconds (0 to a day) or the step's backoff; then when_exhausted decides. permanent skips
-- the retries. Returns the task's row as it is afterwards. Late callbacks, and attempts of workers that do carry a
-- fence (claimed_exact), change nothing.
-- Locks: run, task, message.
create function pgflow.fail_task(
  run_id uuid,
  step_slug text,
  task_index int,
  error_message text,
  permanent boolean default false,
  retry_after int default null
)
returns setof pgflow.step_tasks
language plpgsql
security definer
set search_path = ''
-- planner: keys
as $$
begin
  perform pgflow._apply_results(null, array[run_id], array[step_slug], array[task_index], null,
                                array[case when permanent then 'permanent' else 'failed' end],
                                null, array[error_message], array[retry_after]);
  return query
    select t.*
    from pgflow.step_tasks t
    where t.run_id = fail_task.run_id and t.step_slug = fail_task.step_slug
      and t.task_index = fail_task.task_index;
end
$$;
