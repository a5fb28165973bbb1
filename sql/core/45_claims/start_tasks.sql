-- The old form of the claim, kept for existing workers: starts the queued tasks
-- of one flow whose messages the caller has read. Everything else in the batch
-- is left as it is, but a message whose task has ended is archived.
--
-- step_slug: of a flow of mode step, the step whose private queue it is; null for every other flow.
-- Three arguments: the queue that pgflow.queues records as the flow's own. No rows for a flow that does not exist.
-- On a shared queue it raises: such a worker would lease its neighbours' messages.
-- Tasks started here are not claimed_exact: complete_task and fail_task act on
-- whatever attempt is started. The run's input comes as flow_input on every row
-- of a root single step. A task whose input cannot be built is not returned; it
-- stays started until recovery gives it up.
-- Locks: messages and tasks by skip locked. Errors: 42704, no such flow queue;
-- 22023, a step_slug that the queue is not for, or none where one is needed; 55000, a shared queue; 42P01, the queue
-- is gone.
create function pgflow.start_tasks(
  flow_slug text, msg_ids bigint[], worker_id uuid, queue_name text, step_slug text default null)
returns setof pgflow.step_task_record
language plpgsql
set search_path = ''
-- planner: keys
as $$
declare
  kind text := (select q.kind from pgflow.queues q where q.queue_name = lower($4));
  batch pgflow._message_batch;
  items pgflow._claim_item[];
  ended bigint[];
begin
  if not exists (select from pgflow.flows f where f.flow_slug = $1) then
    return;
  elsif kind is null then
    raise exception 'start_tasks: no queue "%" is known to pgflow', queue_name
      using errcode = 'undefined_object', hint = 'See pgflow.queues.';
  elsif kind = 'shared' then
    raise exception 'start_tasks: queue "%" is shared', queue_name
      using errcode = 'object_not_in_prerequisite_state',
            hint = 'Workers of a shared queue claim by exact pair: pgflow.claim_tasks.';
  end if;

  perform pgflow._check_start_tasks(flow_slug, queue_name, step_slug, kind);

  batch := pgflow._take_messages(queue_name, msg_ids);
  items := pgflow._classify_messages(
    queue_name, batch, pgflow._lock_tasks(queue_name, batch.msg_ids),
    array(select row(s.flow_slug, s.step_slug)::pgflow.task_pair
          from pgflow.steps s where s.flow_slug = $1 and ($5 is null or s.step_slug = $5)), '{}');
  ended := array(select i.msg_id from unnest(items) i where i.outcome = 'stale' and i.present);
  items := array(select i from unnest(items) i where i.outcome = 'started' order by i.place);

  perform pgflow._start_items(items, worker_id, false);
  perform pgflow._set_visibility(queue_name, items, 0, null);
  perform pgflow._archive(array_fill(lower(queue_name), array[cardinality(ended)]), ended);

  return query
    select a.flow_slug, a.run_id, a.step_slug, a.input, a.msg_id, a.task_index, a.flow_input
    from pgflow._safe_item_rows(queue_name, items, true) a
    where a.input_error is null;
end
$$;

create function pgflow.start_tasks(flow_slug text, msg_ids bigint[], worker_id uuid)
returns setof pgflow.step_task_record
language plpgsql
set search_path = ''
-- planner: keys
as $$
declare
  own_queue text := (
    select q.queue_name from pgflow.queues q where q.owner_flow_slug = $1 and q.kind = 'flow');
begin
  if not exists (select from pgflow.flows f where f.flow_slug = $1) then
    return;
  elsif own_queue is null then
    raise exception 'start_tasks: flow "%" has no queue of its own', flow_slug
      using errcode = 'undefined_object',
            hint = 'Name the queue as the fourth argument, or claim by exact pair: pgflow.claim_tasks.';
  end if;
  return query select s.* from pgflow.start_tasks(flow_slug, msg_ids, worker_id, own_queue) s;
end
$$;
