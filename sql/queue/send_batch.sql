-- Sends several messages; returns their msg_ids in the order of msgs. headers,
-- when given, has one element a message; delay as in send, one for all.
-- Locks: none. Errors: 42P01, no such queue; 22023, headers of another length.
create function pgmq.send_batch(queue_name text, msgs jsonb[], headers jsonb[], delay timestamptz)
returns setof bigint
language plpgsql
set search_path = ''
as $$
begin
  if headers is not null and cardinality(headers) <> coalesce(cardinality(msgs), 0) then
    raise exception 'headers has % elements for % messages', cardinality(headers),
        coalesce(cardinality(msgs), 0)
      using errcode = 'invalid_parameter_value',
            hint = 'Give one header for each message, or null.';
  end if;

  return query execute format($query$
    insert into pgmq.%I (vt, message, headers)
    select $1, m.msg, m.header
    from unnest($2, $3) with ordinality as m(msg, header, place)
    order by m.place
    returning msg_id
    $query$, pgmq.format_table_name(queue_name, 'q'))
  using delay, msgs, headers;
end
$$;

create function pgmq.send_batch(queue_name text, msgs jsonb[], headers jsonb[], delay integer)
returns setof bigint
language sql
set search_path = ''
as $$ select pgmq.send_batch(queue_name, msgs, headers, clock_timestamp() + make_interval(secs => delay)) $$;

create function pgmq.send_batch(queue_name text, msgs jsonb[], headers jsonb[])
returns setof bigint
language sql
set search_path = ''
as $$ select pgmq.send_batch(queue_name, msgs, headers, clock_timestamp()) $$;

create function pgmq.send_batch(queue_name text, msgs jsonb[], delay timestamptz)
returns setof bigint
language sql
set search_path = ''
as $$ select pgmq.send_batch(queue_name, msgs, null::jsonb[], delay) $$;

create function pgmq.send_batch(queue_name text, msgs jsonb[], delay integer)
returns setof bigint
language sql
set search_path = ''
as $$ select pgmq.send_batch(queue_name, msgs, null::jsonb[], clock_timestamp() + make_interval(secs => delay)) $$;

create function pgmq.send_batch(queue_name text, msgs jsonb[])
returns setof bigint
language sql
set search_path = ''
as $$ select pgmq.send_batch(queue_name, msgs, null::jsonb[], clock_timestamp()) $$;
