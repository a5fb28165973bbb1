-- Wakes the hosts that would otherwise miss what has become visible on these queues: one notification a queue, channel
-- pgflow_q_<queue>, no payload. PostgreSQL sends it at commit and folds equal ones of a transaction into one; commits
-- with one go singly, so it is sent only where somebody may sleep (_must_notify).
-- For messages that are visible now; delayed ones wake nobody.
-- Locks: those of _must_notify.
create function pgflow._notify(queue_names text[])
returns void
language plpgsql
set search_path = ''
as $$
declare
  queue_name text;
begin
  foreach queue_name in array coalesce(queue_names, '{}') loop
    continue when queue_name is null;
    if pgflow._must_notify(lower(queue_name)) then
      perform pg_notify('pgflow_q_' || lower(queue_name), '');
    end if;
  end loop;
end
$$;
