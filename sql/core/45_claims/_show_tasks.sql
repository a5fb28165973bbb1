-- Makes the messages of queued tasks visible again, delay seconds from now, and
-- sends one anew for a task whose message is gone. One pass a queue; with a delay
-- of 0 it notifies the queues.
-- Parallel arrays: the tasks' keys and their durable pairs; the caller holds the
-- tasks' locks. Locks: the message rows, ascending within a queue, queues by name.
-- Callers: releases, recovery.
create function pgflow._show_tasks(
  run_ids uuid[], step_slugs text[], task_indexes int[], queue_names text[], message_ids bigint[],
  delay int)
returns void
language plpgsql
set search_path = ''
as $$
declare
  batch record;
  shown bigint[];
begin
  for batch in
    select t.queue_name, array_agg(t.message_id order by t.message_id) as ids
    from unnest(queue_names, message_ids) as t(queue_name, message_id)
    group by t.queue_name
    order by t.queue_name
  loop
    shown := array(
      select s.msg_id
      from pgflow.set_vt_batch(
        batch.queue_name, array_remove(batch.ids, null),
        array_fill(delay, array[cardinality(array_remove(batch.ids, null))])) s);
    if cardinality(shown) < cardinality(batch.ids) then
      perform pgflow._resend_task(t.run_id, t.step_slug, t.task_index, batch.queue_name, delay)
      from unnest(run_ids, step_slugs, task_indexes, queue_names, message_ids)
             as t(run_id, step_slug, task_index, queue_name, message_id)
      where t.queue_name = batch.queue_name
        and (t.message_id is null or not t.message_id = any (shown));
    end if;
  end loop;

  if delay <= 0 then
    perform pgflow._notify(queue_names);
  end if;
end
$$;
