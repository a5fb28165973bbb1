-- The trigger function of every queue: notes the tasks whose messages a statement took away (a purge: that any may be
-- one). The argument of the trigger is the queue's name as pgflow.queues has it.
-- It does not run for what ends tasks itself: that sets pgflow.takes_messages (_archive, _delete_messages).
-- Security definer, because whoever may write to a queue may not write to this schema.
-- Locks: none.
create function pgflow._note_lost_messages()
returns trigger
language plpgsql
security definer
set search_path = ''
-- planner: loops
as $$
begin
  if tg_op = 'TRUNCATE' then
    insert into pgflow.lost_messages (queue_name) values (tg_argv[0]);
    return null;
  end if;

  insert into pgflow.lost_messages (queue_name, run_id, step_slug, task_index)
  select tg_argv[0], t.run_id, t.step_slug, t.task_index
  from taken m
  cross join lateral (
    select x.run_id, x.step_slug, x.task_index, x.status
    from pgflow.step_tasks x
    where x.queue_name = tg_argv[0] and x.message_id = m.msg_id
    limit 1) t
  where t.status in ('queued', 'started');
  return null;
end
$$;
