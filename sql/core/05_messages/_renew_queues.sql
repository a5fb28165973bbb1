-- Heals queues whose messages were lost while their tasks wait: their ids go on behind those that tasks have, and
-- queued tasks without a message get one, visible now. Who wants their work gone cancels the runs.
-- queue_names: those to look at, null for all. Returns the queues that were healed, by name.
-- Each queue in a subtransaction: one that is being dropped, or is gone, costs nothing but itself.
-- Locks: as _renew_queue, by name, and _resend_lost. It waits for no row, and 2 s at most for a queue that is being
-- dropped.
create function pgflow._renew_queues(queue_names text[] default null)
returns text[]
language plpgsql
set search_path = ''
set lock_timeout = '2s'
as $$
declare
  moved text[] := '{}';
  in_queue text;
begin
  for in_queue in
    select q.queue_name
    from pgflow.queues q
    join pg_catalog.pg_class c
      on c.relnamespace = 'pgmq'::regnamespace and c.relname = pgmq.format_table_name(q.queue_name, 'q')
    where queue_names is null or q.queue_name = any (queue_names)
    order by q.queue_name
  loop
    begin
      if pgflow._renew_queue(in_queue) then
        moved := moved || in_queue;
      end if;
    exception
      when undefined_table then
        null; -- dropped since the list was read
      when lock_not_available then
        raise warning 'queue "%" is locked: it is looked at in the next round', in_queue;
    end;
  end loop;
  return array(
    select distinct h.name from unnest(moved || pgflow._resend_lost(queue_names)) as h (name) order by h.name);
end
$$;
