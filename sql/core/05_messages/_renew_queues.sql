-- Heals queues whose messages were lost while their tasks wait. Two signs, each cheap to look for:
-- - The last id that the queue gave is below one that a task has: it was dropped and made anew (pgmq.drop_queue,
--   pgmq.create). (queue, message id) names old tasks there, so no new task could be sent: its ids go on behind them.
-- - It is empty, and a task is queued on it: it was purged, or messages were archived by hand.
-- Then queued tasks without a message get one, visible now. Who wants their work gone cancels the runs.
-- queue_names: those to look at, null for all. Returns the queues that were healed.
-- A sequence begun anew has given no id yet (is_called), which pg_sequence_last_value cannot tell from none at all.
-- `alter sequence` and not setval, which a rollback (of --check) would not undo.
-- Locks, for a queue to be healed alone: its queued tasks in order, then its table against senders. Callers: maintain,
-- _provision_queues, _compile.
create function pgflow._renew_queues(queue_names text[] default null)
returns text[]
language plpgsql
set search_path = ''
set lock_timeout = '2s'
as $$
declare
  healed text[] := '{}';
  queue record;
  given_id bigint;
  is_emptied boolean;
  run_ids uuid[];
  step_slugs text[];
  task_indexes int[];
  message_ids bigint[];
begin
  for queue in
    select q.queue_name, c.relname as table_name,
           pg_get_serial_sequence(format('pgmq.%I', c.relname), 'msg_id')::regclass as ids,
           (select max(t.message_id) from pgflow.step_tasks t where t.queue_name = q.queue_name) as last_id
    from pgflow.queues q
    join pg_catalog.pg_class c
      on c.relnamespace = 'pgmq'::regnamespace and c.relname = pgmq.format_table_name(q.queue_name, 'q')
    where queue_names is null or q.queue_name = any (queue_names)
    order by q.queue_name
  loop
    -- One statement, one snapshot: a task and its message come and go together. The newest ids are the living ones.
    execute format(
      'select s.last_value - (not s.is_called)::int,'
      ' exists (select from pgflow.step_tasks t where t.queue_name = $1 and t.status = ''queued'')'
      ' and not exists (select from pgmq.%I m order by m.msg_id desc limit 1) from %s s', queue.table_name, queue.ids)
    into given_id, is_emptied using queue.queue_name;
    continue when not (coalesce(given_id < queue.last_id, false) or is_emptied);

    perform from pgflow.step_tasks t
    where t.queue_name = queue.queue_name and t.status = 'queued'
    order by t.run_id, t.step_slug, t.task_index
    for no key update;
    execute format('lock table pgmq.%I in share row exclusive mode', queue.table_name);
    execute format('select s.last_value - (not s.is_called)::int from %s s', queue.ids) into given_id;
    if given_id < queue.last_id then
      execute format('alter sequence %s restart with %s', queue.ids, queue.last_id + 1);
    end if;

    execute format(
      'select array_agg(t.run_id), array_agg(t.step_slug), array_agg(t.task_index), array_agg(t.message_id)'
      ' from pgflow.step_tasks t where t.queue_name = $1 and t.status = ''queued'''
      ' and not exists (select from pgmq.%I m where m.msg_id = t.message_id)', queue.table_name)
    into run_ids, step_slugs, task_indexes, message_ids using queue.queue_name;
    if cardinality(run_ids) > 0 then
      perform pgflow._notify(pgflow._show_tasks(
        run_ids, step_slugs, task_indexes, array_fill(queue.queue_name, array[cardinality(run_ids)]), message_ids,
        array_fill(0, array[cardinality(run_ids)])));
    end if;
    healed := healed || queue.queue_name;
  end loop;
  return healed;
end
$$;
