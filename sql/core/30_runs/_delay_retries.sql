-- Hides the messages of tasks that are tried again until their next attempt is due. Returns the queues on which one is
-- visible now (a delay of 0). A task that the same batch cancelled or skipped after all is passed over.
-- Locks: the messages by queue and id; the caller holds the tasks.
create function pgflow._delay_retries(verdicts pgflow._verdict[])
returns text[]
language plpgsql
set search_path = ''
as $$
begin
  return (
    select pgflow._show_tasks(array_agg(v.run_id), array_agg(v.step_slug), array_agg(v.task_index),
                              array_agg(v.queue_name), array_agg(v.message_id), array_agg(v.delay))
    from unnest(verdicts) v
    join pgflow.step_tasks t
      on t.run_id = any (array[v.run_id]) and t.step_slug = v.step_slug and t.task_index = v.task_index
    where v.verdict = 'retry' and t.status || '' = 'queued');
end
$$;
