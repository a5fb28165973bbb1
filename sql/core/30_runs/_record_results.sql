-- Writes verdicts to their tasks, in one statement. Not those of _complete_tasks, which are written already.
-- Locks: the caller holds the runs and the tasks.
create function pgflow._record_results(verdicts pgflow._verdict[])
returns void
language plpgsql
set search_path = ''
as $$
begin
  update pgflow.step_tasks t
  set status = case v.verdict when 'completed' then 'completed' when 'retry' then 'queued' else 'failed' end,
      output = v.output,
      error_message = coalesce(v.error, t.error_message),
      recover_at = null,
      started_at = case when v.verdict <> 'retry' then t.started_at end,
      completed_at = case when v.verdict = 'completed' then greatest(clock_timestamp(), t.started_at) end,
      failed_at = case when v.verdict not in ('completed', 'retry')
                       then greatest(clock_timestamp(), t.started_at) end,
      permanently_stalled_at = case when v.result = 'stalled'
                                    then greatest(clock_timestamp(), t.started_at) end
  from unnest(verdicts) v
  where v.verdict not in ('again', 'late')
    and t.run_id = any (array[v.run_id]) and t.step_slug = v.step_slug and t.task_index = v.task_index;
end
$$;
