-- Wakes the hosts that listen on these queues: one notification a distinct
-- queue, channel pgflow_q_<queue>, no payload. PostgreSQL sends it at commit and
-- folds equal ones of a transaction into one.
-- For messages that are visible now; delayed ones send none.
-- Callers: whatever makes a message visible. Locks: none before commit.
create function pgflow._notify(queue_names text[])
returns void
language plpgsql
set search_path = ''
as $$
begin
  perform pg_notify('pgflow_q_' || q.queue_name, '')
  from (select distinct lower(n) as queue_name from unnest(queue_names) n where n is not null) q;
end
$$;
