-- Wakes the hosts that listen on these queues: one notification a queue, channel
-- pgflow_q_<queue>, no payload. PostgreSQL sends it at commit and folds equal
-- ones of a transaction into one.
-- For messages that are visible now; delayed ones send none.
-- Callers: whatever makes a message visible. Locks: none before commit.
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
    perform pg_notify('pgflow_q_' || lower(queue_name), '');
  end loop;
end
$$;
