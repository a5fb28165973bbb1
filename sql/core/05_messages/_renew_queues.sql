-- Heals queues that were dropped and made anew (pgmq.drop_queue, pgmq.create): their message ids begin again at 1,
-- where (queue, message id) still names old tasks, so no new task could be sent; and the messages of the queued ones
-- are gone. Such a queue is known by its ids: the last one given is below one that a task has.
-- Their ids go on behind the known ones, and queued tasks without a message get one, visible now.
-- queue_names: those to look at, null for all. Returns the queues that were healed.
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
  run_ids uuid[];
  step_slugs text[];
  task_indexes int[];
  message_ids bigint[];
begin
  for queue in
    select q.queue_name, pgmq.format_table_name(q.queue_name, 'q') as table_name, s.ids, known.last_id
    from pgflow.queues q
    cross join lateral (
      select pg_get_serial_sequence(format('pgmq.%I', c.relname), 'msg_id')::regclass as ids
      from pg_catalog.pg_class c
      where c.relnamespace = 'pgmq'::regnamespace and c.relname = pgmq.format_table_name(q.queue_name, 'q')
    ) s
    cross join lateral (
      select max(t.message_id) as last_id from pgflow.step_tasks t where t.queue_name = q.queue_name
    ) known
    where (queue_names is null or q.queue_name = any (queue_names))
      and coalesce(pg_sequence_last_value(s.ids), 0) < known.last_id
    order by q.queue_name
  loop
    perform from pgflow.step_tasks t
    where t.queue_name = queue.queue_name and t.status = 'queued'
    order by t.run_id, t.step_slug, t.task_index
    for no key update;
    execute format('lock table pgmq.%I in share row exclusive mode', queue.table_name);
    continue when coalesce(pg_sequence_last_value(queue.ids), 0) >= queue.last_id;
    execute format('alter sequence %s restart with %s', queue.ids, queue.last_id + 1);

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
