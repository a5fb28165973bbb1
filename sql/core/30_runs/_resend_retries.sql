-- Sends new messages for those retries whose message is not among the found ones, and records their ids.
-- Locks: none new; the caller holds the tasks. Callers: _delay_retries.
create function pgflow._resend_retries(
  retries pgflow._verdict[],
  found_queues text[],
  found_messages bigint[]
)
returns void
language plpgsql
set search_path = ''
as $$
begin
  with lost as (
    select v.queue_name, v.delay,
           array_agg(row(v.flow_slug, v.run_id, v.step_slug, v.task_index, null)::pgflow._new_task
                     order by v.item) as tasks,
           array_agg(jsonb_build_object('flow_slug', v.flow_slug, 'run_id', v.run_id, 'step_slug', v.step_slug,
                                        'task_index', v.task_index) order by v.item) as bodies
    from unnest(retries) v
    where not exists (
      select
      from unnest(found_queues, found_messages) as f (queue_name, message_id)
      where f.queue_name = v.queue_name and f.message_id = v.message_id)
    group by v.queue_name, v.delay
  )
  update pgflow.step_tasks t
  set message_id = sent.message_id
  from lost l
  cross join lateral rows from (
    unnest(l.tasks),
    pgmq.send_batch(l.queue_name, l.bodies, null::jsonb[], clock_timestamp() + make_interval(secs => l.delay))
  ) as sent (flow_slug, run_id, step_slug, task_index, input, message_id)
  where t.run_id = any (array[sent.run_id]) and t.step_slug = sent.step_slug and t.task_index = sent.task_index;
end
$$;
