-- Sets when the messages of queued tasks are visible: the i-th delays[i] seconds from now. A task whose message is gone
-- gets a new one: a queued task without a message would wait for ever. Returns the queues on which one is visible now,
-- for the caller to notify.
-- Parallel arrays: the tasks' keys and their durable pairs; the caller holds the tasks' locks.
-- Locks: the messages, ascending within a queue, queues by name. Errors: 42P01, a queue is gone.
create function pgflow._show_tasks(
  run_ids uuid[], step_slugs text[], task_indexes int[], queue_names text[], message_ids bigint[], delays int[])
returns text[]
language plpgsql
set search_path = ''
as $$
declare
  batch record;
  shown bigint[];
begin
  for batch in
    select t.queue_name, count(*) as tasks,
           array_agg(t.message_id) filter (where t.message_id is not null) as ids,
           array_agg(t.delay) filter (where t.message_id is not null) as delays
    from unnest(queue_names, message_ids, delays) as t (queue_name, message_id, delay)
    group by t.queue_name
    order by t.queue_name
  loop
    shown := array(select s.msg_id from pgflow.set_vt_batch(batch.queue_name, batch.ids, batch.delays) s);
    if cardinality(shown) < batch.tasks then
      perform pgflow._resend_task(t.run_id, t.step_slug, t.task_index, batch.queue_name, t.delay)
      from unnest(run_ids, step_slugs, task_indexes, queue_names, message_ids, delays)
             as t (run_id, step_slug, task_index, queue_name, message_id, delay)
      where t.queue_name = batch.queue_name
        and (t.message_id is null or not t.message_id = any (shown));
    end if;
  end loop;

  return array(
    select distinct t.queue_name from unnest(queue_names, delays) as t (queue_name, delay) where t.delay <= 0);
end
$$;
