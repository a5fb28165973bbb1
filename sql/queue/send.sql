-- Sends one message; returns its msg_id. headers may be null; delay is seconds
-- from now or the moment from which the message is visible.
-- Locks: none. Errors: 42P01, no such queue.
create function pgmq.send(queue_name text, msg jsonb, headers jsonb, delay timestamptz)
returns setof bigint
language plpgsql
set search_path = ''
as $$
begin
  return query execute format(
    'insert into pgmq.%I (vt, message, headers) values ($1, $2, $3) returning msg_id',
    pgmq.format_table_name(queue_name, 'q'))
  using delay, msg, headers;
end
$$;

create function pgmq.send(queue_name text, msg jsonb, headers jsonb, delay integer)
returns setof bigint
language sql
set search_path = ''
as $$ select pgmq.send(queue_name, msg, headers, clock_timestamp() + make_interval(secs => delay)) $$;

create function pgmq.send(queue_name text, msg jsonb, headers jsonb)
returns setof bigint
language sql
set search_path = ''
as $$ select pgmq.send(queue_name, msg, headers, clock_timestamp()) $$;

create function pgmq.send(queue_name text, msg jsonb, delay timestamptz)
returns setof bigint
language sql
set search_path = ''
as $$ select pgmq.send(queue_name, msg, null::jsonb, delay) $$;

create function pgmq.send(queue_name text, msg jsonb, delay integer)
returns setof bigint
language sql
set search_path = ''
as $$ select pgmq.send(queue_name, msg, null::jsonb, clock_timestamp() + make_interval(secs => delay)) $$;

create function pgmq.send(queue_name text, msg jsonb)
returns setof bigint
language sql
set search_path = ''
as $$ select pgmq.send(queue_name, msg, null::jsonb, clock_timestamp()) $$;
