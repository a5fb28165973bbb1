-- Hides the messages of tasks that are tried again until their next attempt is due. Returns the queues on which one is
-- visible now (a delay of 0). A task that the same batch cancelled or skipped after all is passed over. A message that
-- is gone, because somebody emptied the queue, is sent anew: a queued task without a message would wait for ever.
-- Locks: the messages by queue and id; the caller holds the tasks. Callers: _apply_results.
create function pgflow._delay_retries(verdicts pgflow._verdict[])
returns text[]
language plpgsql
set search_path = ''
as $$
declare
  retries pgflow._verdict[];
  found_queues text[];
  found_messages bigint[];
begin
  select coalesce(array_agg(v), '{}') into retries
  from unnest(verdicts) v
  join pgflow.step_tasks t
    on t.run_id = any (array[v.run_id]) and t.step_slug = v.step_slug and t.task_index = v.task_index
  where v.verdict = 'retry' and t.status = 'queued';

  select array_agg(q.queue_name), array_agg(m.msg_id) into found_queues, found_messages
  from (
    select v.queue_name, array_agg(v.message_id) as ids, array_agg(v.delay) as delays
    from unnest(retries) v
    where v.message_id is not null
    group by v.queue_name
    order by v.queue_name
  ) q
  cross join lateral pgflow.set_vt_batch(q.queue_name, q.ids, q.delays) m;

  if cardinality(retries) > coalesce(cardinality(found_messages), 0) then
    perform pgflow._resend_retries(retries, found_queues, found_messages);
  end if;
  return array(select distinct v.queue_name from unnest(retries) v where v.delay = 0);
end
$$;
