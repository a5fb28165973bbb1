-- Sends the messages of queued tasks that lost theirs, as pgflow.lost_messages notes them, visible now; at most 4 s a
-- call, so that the statement's deadline does not undo what was done. The rest is for the next round.
-- queue_names: those to serve, null for all. Returns the queues on which a task was sent.
-- A task that somebody has locked keeps its note: it is being claimed, finished or cancelled, or another session is at
-- it here.
-- Locks: notes and task rows by skip locked; it waits for neither.
create function pgflow._resend_lost(queue_names text[])
returns text[]
language plpgsql
set search_path = ''
-- planner: keys
as $$
declare
  batch_size constant int := 1000;
  deadline constant timestamptz := clock_timestamp() + interval '4 s';
  seen_id bigint := 0;
  notes pgflow.lost_messages[];
  locked pgflow.lost_messages[];
  in_queue text;
  resent text[] := '{}';
  failed text[];
  is_sent boolean;
begin
  loop
    notes := array(
      select l
      from pgflow.lost_messages l
      where l.lost_id > seen_id and l.run_id is not null
        and (queue_names is null or l.queue_name = any (queue_names))
      order by l.lost_id
      limit batch_size
      for update skip locked);
    exit when notes = '{}' or clock_timestamp() > deadline;
    seen_id := (notes[cardinality(notes)]).lost_id;

    locked := array(
      select n::pgflow.lost_messages
      from unnest(notes) n
      cross join lateral (
        select from pgflow.step_tasks x
        where x.run_id = any (array[n.run_id]) and x.step_slug = n.step_slug and x.task_index = n.task_index
        limit 1
        for update skip locked) t);

    failed := '{}';
    for in_queue in select distinct l.queue_name from unnest(locked) l order by 1 loop
      is_sent := pgflow._resend_tasks(in_queue, array(select l from unnest(locked) l where l.queue_name = in_queue));
      if is_sent is null then
        failed := failed || in_queue;
      elsif is_sent then
        resent := resent || in_queue;
      end if;
    end loop;

    -- Those that were looked at, and those whose task is gone.
    delete from pgflow.lost_messages l
    using unnest(notes) n
    where l.lost_id = any (array[n.lost_id]) and n.queue_name <> all (failed)
      and (n.lost_id in (select k.lost_id from unnest(locked) k)
           or not exists (
             select from pgflow.step_tasks x
             where x.run_id = any (array[n.run_id]) and x.step_slug = n.step_slug and x.task_index = n.task_index));
  end loop;
  perform pgflow._notify(array(select distinct r.name from unnest(resent) as r (name) order by 1));
  return resent;
end
$$;
