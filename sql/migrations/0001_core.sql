-- pgflow-host, migration 1 (core). Assembled by sql/assemble.cmake; do not edit.
--
-- The whole migration is this one DO statement. So it is one transaction
-- whoever sends it (psql -f, psql -1 -f, one PQexec), takes the lock, decides
-- under the lock whether there is anything to do, and writes the version row.
-- Each source file is one EXECUTE: an error shows that file and the line in it.
do $pgflow_migration$
declare
  installed int;
  queue_is_there boolean;
begin
  -- Two hosts or operators migrating at once: the second waits here, then sees
  -- the first one's version row and returns.
  perform pg_catalog.pg_advisory_xact_lock(-1885826167, 0);

  if pg_catalog.to_regnamespace('pgflow') is null then
    create schema pgflow;
    comment on schema pgflow is
      'pgflow-host: flows, runs, tasks and workers (made by its migrations)';
    create table pgflow.schema_migrations (
      version int primary key check (version > 0),
      oldest_host int not null check (oldest_host > 0 and oldest_host <= version),
      name text not null,
      applied_at timestamptz not null default pg_catalog.clock_timestamp()
    );
    comment on table pgflow.schema_migrations is
      'Applied migrations; oldest_host: the oldest host number that may still run on this schema';
  elsif pg_catalog.to_regclass('pgflow.schema_migrations') is null then
    raise exception 'schema "pgflow" exists and was not made by pgflow-host'
      using errcode = 'object_not_in_prerequisite_state',
            detail = 'It has no table pgflow.schema_migrations. Upgrading another installation is not supported yet; nothing was changed.',
            hint = 'Use another database, or rename or drop that schema first.';
  end if;

  select coalesce(max(m.version), 0) into installed from pgflow.schema_migrations m;
  if installed >= 1 then
    return;
  end if;
  if installed <> 1 - 1 then
    raise exception 'migration 1 (core) needs version % of schema "pgflow", found %', 1 - 1, installed
      using errcode = 'object_not_in_prerequisite_state',
            hint = 'Apply the migrations in order: pgflowctl migrate.';
  end if;

  -- Functions refer to tables and functions of later files; every name in
  -- every file carries its schema.
  perform pg_catalog.set_config('check_function_bodies', 'off', true);
  perform pg_catalog.set_config('search_path', '', true);
  perform pg_catalog.set_config('client_min_messages', 'warning', true);
  -- Which message queue: PGMQ >= 1.5 when it is installed or available, else
  -- the embedded one (sql/queue). Same schema, layout and signatures.
  queue_is_there := pg_catalog.to_regnamespace('pgmq') is not null;
  if queue_is_there then
    if pg_catalog.to_regprocedure('pgmq.read(text,integer,integer,jsonb)') is null
       or pg_catalog.to_regprocedure('pgmq.send(text,jsonb,jsonb,timestamp with time zone)') is null then
      raise exception 'schema "pgmq" exists and is not PGMQ 1.5 or later'
        using errcode = 'object_not_in_prerequisite_state',
              detail = 'Its functions pgmq.read(queue_name, vt, qty, conditional) or pgmq.send(queue_name, msg, headers, delay) are missing.',
              hint = 'Update it first: alter extension pgmq update.';
    end if;
  elsif exists (
    select from pg_catalog.pg_available_extensions e
    where e.name = 'pgmq'
      and pg_catalog.string_to_array(
            substring(e.default_version from '^[0-9]+(?:\.[0-9]+)*'), '.')::int[] >= array[1, 5]
  ) then
    create extension pgmq;
    queue_is_there := true;
  end if;
  if not queue_is_there then
    -- queue/00_schema.sql
    execute $pgflow_file$-- queue/00_schema.sql
-- The embedded message queue: the subset of PGMQ 1.5 that pgflow uses, with
-- PGMQ's names, signatures and table layout. Installed only where the extension
-- pgmq (>= 1.5) is neither installed nor available.
--
-- pgmq.meta      one row a queue; queue_name in the spelling given at creation
-- pgmq.q_<name>  live messages (msg_id, read_ct, enqueued_at, vt, message, headers)
-- pgmq.a_<name>  archived ones, with archived_at; table names are lower case
create schema pgmq;

comment on schema pgmq is
  'Embedded message queue of pgflow-host (a subset of PGMQ 1.5). CREATE EXTENSION pgmq fails over it and rolls back. To move to the extension: stop every worker, rename this schema, create the extension, pgmq.create() every queue, copy the rows of q_ and a_ tables with their msg_id (overriding system value), set the sequences, drop the renamed schema.';

create table pgmq.meta (
  queue_name varchar not null unique,
  is_partitioned boolean not null,
  is_unlogged boolean not null,
  created_at timestamptz not null default clock_timestamp()
);

-- PGMQ lower-cases table names only, so two spellings would share one table.
create unique index meta_lower_queue_name_idx on pgmq.meta (lower(queue_name));

create type pgmq.message_record as (
  msg_id bigint,
  read_ct integer,
  enqueued_at timestamptz,
  vt timestamptz,
  message jsonb,
  headers jsonb
);

create type pgmq.queue_record as (
  queue_name varchar,
  is_partitioned boolean,
  is_unlogged boolean,
  created_at timestamptz
);

create type pgmq.metrics_result as (
  queue_name text,
  queue_length bigint,
  newest_msg_age_sec integer,
  oldest_msg_age_sec integer,
  total_messages bigint,
  scrape_time timestamptz,
  queue_visible_length bigint
);
$pgflow_file$;
    -- queue/archive.sql
    execute $pgflow_file$-- queue/archive.sql
-- Moves messages from the queue to its archive. One id: true when it was there.
-- Many: the ids that were there. Locks: the rows moved. Errors: 42P01, no such queue.
create function pgmq.archive(queue_name text, msg_ids bigint[])
returns setof bigint
language plpgsql
set search_path = ''
as $$
begin
  return query execute format($query$
    with moved as (
      delete from pgmq.%I m
      where m.msg_id = any ($1)
      returning m.msg_id, m.read_ct, m.enqueued_at, m.vt, m.message, m.headers
    )
    insert into pgmq.%I (msg_id, read_ct, enqueued_at, vt, message, headers)
    select m.msg_id, m.read_ct, m.enqueued_at, m.vt, m.message, m.headers
    from moved m
    returning msg_id
    $query$, pgmq.format_table_name(queue_name, 'q'), pgmq.format_table_name(queue_name, 'a'))
  using msg_ids;
end
$$;

create function pgmq.archive(queue_name text, msg_id bigint)
returns boolean
language sql
set search_path = ''
as $$ select exists (select from pgmq.archive(queue_name, array[msg_id])) $$;
$pgflow_file$;
    -- queue/create.sql
    execute $pgflow_file$-- queue/create.sql
-- Makes a queue; a queue of exactly this name that exists already is left alone.
-- Locks: an advisory lock on the lower-case name until the end of the transaction.
-- Errors: 22023 for a bad name, 42710 when a queue differs by case only.
create function pgmq.create(queue_name text)
returns void
language plpgsql
set search_path = ''
as $$
declare
  qtable text := pgmq.format_table_name(queue_name, 'q');
  atable text := pgmq.format_table_name(queue_name, 'a');
  stored text;
begin
  perform pgmq.validate_queue_name(queue_name);
  perform pg_advisory_xact_lock(hashtext('pgmq.queue_' || lower(queue_name)));

  select m.queue_name into stored
  from pgmq.meta m
  where lower(m.queue_name) = lower($1);
  if stored = queue_name then
    return;
  elsif stored is not null then
    raise exception 'queue "%" exists as "%"', queue_name, stored
      using errcode = 'duplicate_object',
            hint = 'Queue names that differ by case only would share one table.';
  end if;

  execute format('create table pgmq.%I (
      msg_id bigint primary key generated always as identity,
      read_ct integer not null default 0,
      enqueued_at timestamptz not null default clock_timestamp(),
      vt timestamptz not null,
      message jsonb,
      headers jsonb)', qtable);
  execute format('create table pgmq.%I (
      msg_id bigint primary key,
      read_ct integer not null default 0,
      enqueued_at timestamptz not null default clock_timestamp(),
      archived_at timestamptz not null default clock_timestamp(),
      vt timestamptz not null,
      message jsonb,
      headers jsonb)', atable);
  execute format('create index %I on pgmq.%I (vt)', qtable || '_vt_idx', qtable);
  execute format('create index %I on pgmq.%I (archived_at)',
                 'archived_at_idx_' || lower(queue_name), atable);

  insert into pgmq.meta (queue_name, is_partitioned, is_unlogged)
  values (queue_name, false, false);
end
$$;
$pgflow_file$;
    -- queue/delete.sql
    execute $pgflow_file$-- queue/delete.sql
-- Removes messages from the queue without a trace. One id: true when it was
-- there. Many: the ids that were there. Locks: the rows. Errors: 42P01.
create function pgmq.delete(queue_name text, msg_ids bigint[])
returns setof bigint
language plpgsql
set search_path = ''
as $$
begin
  return query execute format(
    'delete from pgmq.%I m where m.msg_id = any ($1) returning m.msg_id',
    pgmq.format_table_name(queue_name, 'q'))
  using msg_ids;
end
$$;

create function pgmq.delete(queue_name text, msg_id bigint)
returns boolean
language sql
set search_path = ''
as $$ select exists (select from pgmq.delete(queue_name, array[msg_id])) $$;
$pgflow_file$;
    -- queue/drop_queue.sql
    execute $pgflow_file$-- queue/drop_queue.sql
-- Drops a queue, its messages and its archive; false (and a notice) when there
-- is none of that name. Any spelling of the name finds it.
-- Locks: the queue's advisory lock, access exclusive on both tables.
create function pgmq.drop_queue(queue_name text)
returns boolean
language plpgsql
set search_path = ''
as $$
begin
  perform pg_advisory_xact_lock(hashtext('pgmq.queue_' || lower(queue_name)));

  delete from pgmq.meta m where lower(m.queue_name) = lower($1);
  if not found then
    raise notice 'pgmq queue `%` does not exist', queue_name;
    return false;
  end if;
  execute format('drop table if exists pgmq.%I', pgmq.format_table_name(queue_name, 'q'));
  execute format('drop table if exists pgmq.%I', pgmq.format_table_name(queue_name, 'a'));
  return true;
end
$$;
$pgflow_file$;
    -- queue/format_table_name.sql
    execute $pgflow_file$-- queue/format_table_name.sql
-- The table of a queue: prefix 'q' (live) or 'a' (archive), always lower case.
-- Errors: 22023 for characters that PGMQ refuses. Locks: none.
create function pgmq.format_table_name(queue_name text, prefix text)
returns text
language plpgsql
immutable
set search_path = ''
as $$
begin
  if queue_name ~ '[$]|;|--|''' then
    raise exception 'queue name contains invalid characters: %', queue_name
      using errcode = 'invalid_parameter_value',
            hint = 'Queue names must not contain $, ;, -- or a single quote.';
  end if;
  return lower(prefix || '_' || queue_name);
end
$$;
$pgflow_file$;
    -- queue/list_queues.sql
    execute $pgflow_file$-- queue/list_queues.sql
-- Every queue, in the spelling given at creation. Locks: none.
create function pgmq.list_queues()
returns setof pgmq.queue_record
language sql
stable
set search_path = ''
as $$
  select m.queue_name, m.is_partitioned, m.is_unlogged, m.created_at
  from pgmq.meta m
  order by m.queue_name
$$;
$pgflow_file$;
    -- queue/metrics.sql
    execute $pgflow_file$-- queue/metrics.sql
-- Length, ages and totals of one queue. Ages are null for an empty queue.
-- Locks: none. Errors: 42P01, no such queue.
create function pgmq.metrics(queue_name text)
returns pgmq.metrics_result
language plpgsql
set search_path = ''
as $$
declare
  qtable text := pgmq.format_table_name(queue_name, 'q');
  result pgmq.metrics_result;
begin
  execute format($query$
    select
      $1 as queue_name,
      count(*) as queue_length,
      extract(epoch from clock_timestamp() - max(m.enqueued_at))::integer as newest_msg_age_sec,
      extract(epoch from clock_timestamp() - min(m.enqueued_at))::integer as oldest_msg_age_sec,
      (select case when s.is_called then s.last_value else 0 end
         from pgmq.%2$I s) as total_messages,
      clock_timestamp() as scrape_time,
      count(*) filter (where m.vt <= $2) as queue_visible_length
    from pgmq.%1$I m
    $query$, qtable, qtable || '_msg_id_seq')
  using queue_name, clock_timestamp()
  into result;
  return result;
end
$$;
$pgflow_file$;
    -- queue/purge_queue.sql
    execute $pgflow_file$-- queue/purge_queue.sql
-- Removes every live message of a queue; returns how many there were.
-- Locks: access exclusive on the queue's table. Errors: 42P01, no such queue.
create function pgmq.purge_queue(queue_name text)
returns bigint
language plpgsql
set search_path = ''
as $$
declare
  qtable text := pgmq.format_table_name(queue_name, 'q');
  removed bigint;
begin
  execute format('lock table pgmq.%I in access exclusive mode', qtable);
  execute format('select count(*) from pgmq.%I', qtable) into removed;
  execute format('truncate table pgmq.%I', qtable);
  return removed;
end
$$;
$pgflow_file$;
    -- queue/read.sql
    execute $pgflow_file$-- queue/read.sql
-- Reads up to qty visible messages, oldest first, and hides them for vt seconds.
-- conditional: only messages that contain it ('{}': all).
-- Locks: the rows read, by skip locked; an empty queue, or one where all is
-- delayed, is answered from the index on vt without a lock.
-- Errors: 42P01, no such queue.
create function pgmq.read(queue_name text, vt integer, qty integer, conditional jsonb default '{}')
returns setof pgmq.message_record
language plpgsql
set search_path = ''
as $$
declare
  qtable text := pgmq.format_table_name(queue_name, 'q');
  -- A value, not a call: a volatile call cannot be looked up in the index.
  moment timestamptz := clock_timestamp();
  first_due timestamptz;
begin
  execute format('select m.vt from pgmq.%I m order by m.vt limit 1', qtable) into first_due;
  if first_due is null or first_due > moment then
    return;
  end if;

  return query execute format($query$
    with due as (
      select m.msg_id
      from pgmq.%1$I m
      where m.vt <= $2 and ($3 = '{}'::jsonb or m.message @> $3)
      order by m.msg_id
      limit $1
      for update skip locked
    ), taken as (
      update pgmq.%1$I m
      set vt = clock_timestamp() + $4, read_ct = m.read_ct + 1
      from due
      where m.msg_id = due.msg_id
      returning m.msg_id, m.read_ct, m.enqueued_at, m.vt, m.message, m.headers
    )
    select t.msg_id, t.read_ct, t.enqueued_at, t.vt, t.message, t.headers
    from taken t
    order by t.msg_id
    $query$, qtable)
  using qty, moment, conditional, make_interval(secs => vt);
end
$$;
$pgflow_file$;
    -- queue/read_with_poll.sql
    execute $pgflow_file$-- queue/read_with_poll.sql
-- As read; while nothing is visible it looks again every poll_interval_ms for at
-- most max_poll_seconds. Holds its connection, and its transaction, that long.
create function pgmq.read_with_poll(
  queue_name text, vt integer, qty integer, max_poll_seconds integer default 5,
  poll_interval_ms integer default 100, conditional jsonb default '{}')
returns setof pgmq.message_record
language plpgsql
set search_path = ''
as $$
declare
  stop_at timestamptz := clock_timestamp() + make_interval(secs => max_poll_seconds);
begin
  loop
    return query
      select r.msg_id, r.read_ct, r.enqueued_at, r.vt, r.message, r.headers
      from pgmq.read(queue_name, vt, qty, conditional) r;
    if found or clock_timestamp() >= stop_at then
      return;
    end if;
    perform pg_sleep(greatest(poll_interval_ms, 1) / 1000.0);
  end loop;
end
$$;
$pgflow_file$;
    -- queue/send.sql
    execute $pgflow_file$-- queue/send.sql
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
$pgflow_file$;
    -- queue/send_batch.sql
    execute $pgflow_file$-- queue/send_batch.sql
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
$pgflow_file$;
    -- queue/set_vt.sql
    execute $pgflow_file$-- queue/set_vt.sql
-- Makes a message visible vt seconds from now (0: at once). One row, or none
-- when there is no such message. Locks: that row. Errors: 42P01, no such queue.
create function pgmq.set_vt(queue_name text, msg_id bigint, vt integer)
returns setof pgmq.message_record
language plpgsql
set search_path = ''
as $$
begin
  return query execute format($query$
    update pgmq.%I m
    set vt = clock_timestamp() + $2
    where m.msg_id = $1
    returning m.msg_id, m.read_ct, m.enqueued_at, m.vt, m.message, m.headers
    $query$, pgmq.format_table_name(queue_name, 'q'))
  using msg_id, make_interval(secs => vt);
end
$$;
$pgflow_file$;
    -- queue/validate_queue_name.sql
    execute $pgflow_file$-- queue/validate_queue_name.sql
-- Refuses a queue name that is empty or longer than 47 bytes: its tables and
-- indexes must keep their names within PostgreSQL's 63 bytes.
-- Errors: 22023. Locks: none. Caller: create.
create function pgmq.validate_queue_name(queue_name text)
returns void
language plpgsql
immutable
set search_path = ''
as $$
begin
  if queue_name is null or queue_name = '' then
    raise exception 'queue name is empty'
      using errcode = 'invalid_parameter_value',
            hint = 'Give a name of 1 to 47 bytes.';
  end if;
  if octet_length(queue_name) > 47 then
    raise exception 'queue name is too long, maximum length is 47 bytes: % (% bytes)',
        queue_name, octet_length(queue_name)
      using errcode = 'invalid_parameter_value',
            hint = 'Give a shorter name.';
  end if;
end
$$;
$pgflow_file$;
  end if;
  -- core/00_schema/_counted.sql
  execute $pgflow_file$-- core/00_schema/_counted.sql
-- A number with its noun: 1 started run, 2 started runs. noun: singular, plural by -s.
-- Callers: those that tell operators what is left.
create function pgflow._counted(number bigint, noun text)
returns text
language sql
immutable
set search_path = ''
as $$
  select format('%s %s%s', number, noun, case when number = 1 then '' else 's' end)
$$;
$pgflow_file$;
  -- core/00_schema/_raise_problems.sql
  execute $pgflow_file$-- core/00_schema/_raise_problems.sql
-- Raises with all the reasons why something is refused; none: returns. The first is
-- in the message, and the detail lists them where there are several: one reason is
-- said once.
-- subject: what is refused, as the message begins. remedy: the hint.
-- Callers: whatever finds several problems at once.
create function pgflow._raise_problems(subject text, problems text[], code text, remedy text)
returns void
language plpgsql
set search_path = ''
as $$
begin
  if cardinality(problems) = 1 then
    raise exception '%: %', subject, problems[1] using errcode = code, hint = remedy;
  elsif cardinality(problems) > 1 then
    raise exception '%: %', subject, problems[1]
      using errcode = code, detail = array_to_string(problems, e'\n'), hint = remedy;
  end if;
end
$$;
$pgflow_file$;
  -- core/00_schema/schema_version.sql
  execute $pgflow_file$-- core/00_schema/schema_version.sql
-- The installed schema version. One row: version, and oldest_host, the oldest
-- host number that may run on it. A host runs when its own number lies between.
-- Callers: every host at startup, pgflowctl migrate. Locks: none.
create function pgflow.schema_version(out version int, out oldest_host int)
language sql
stable
set search_path = ''
as $$
  select m.version, m.oldest_host
  from pgflow.schema_migrations m
  order by m.version desc
  limit 1
$$;
$pgflow_file$;
  -- core/05_messages/_archive.sql
  execute $pgflow_file$-- core/05_messages/_archive.sql
-- Archives messages by (queue, id), one statement a queue, ids ascending.
-- Parallel arrays; null ids, messages that are gone and queues that are gone are
-- passed over: all that matters is that none of them is on a queue afterwards.
-- Locks: the message rows, in ascending order within a queue, queues by name;
-- the settings below keep every plan on the primary key, which gives that order
-- and does not depend on statistics of a table that was empty a moment ago.
-- Callers: everything that ends a task.
create function pgflow._archive(queue_names text[], message_ids bigint[])
returns void
language plpgsql
set search_path = ''
set enable_seqscan = off
set enable_bitmapscan = off
as $$
declare
  batch record;
begin
  for batch in
    select m.queue_name, array_agg(m.message_id order by m.message_id) as ids
    from unnest(queue_names, message_ids) as m(queue_name, message_id)
    where m.message_id is not null and m.queue_name is not null
    group by m.queue_name
    order by m.queue_name
  loop
    if to_regclass(format('pgmq.%I', pgmq.format_table_name(batch.queue_name, 'q'))) is not null then
      perform pgmq.archive(batch.queue_name, batch.ids);
    end if;
  end loop;
end
$$;
$pgflow_file$;
  -- core/05_messages/_notify.sql
  execute $pgflow_file$-- core/05_messages/_notify.sql
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
$pgflow_file$;
  -- core/05_messages/_renew_queues.sql
  execute $pgflow_file$-- core/05_messages/_renew_queues.sql
-- Heals queues whose messages were lost while their tasks wait. Two signs, each cheap to look for:
-- - The last id that the queue gave is below one that a task has: it was dropped and made anew (pgmq.drop_queue,
--   pgmq.create). (queue, message id) names old tasks there, so no new task could be sent: its ids go on behind them.
-- - It is empty, and a task is queued on it: it was purged, or messages were archived by hand.
-- Then queued tasks without a message get one, visible now. Who wants their work gone cancels the runs.
-- queue_names: those to look at, null for all. Returns the queues that were healed.
-- A sequence begun anew has given no id yet (is_called), which pg_sequence_last_value cannot tell from none at all.
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
  given_id bigint;
  is_emptied boolean;
  run_ids uuid[];
  step_slugs text[];
  task_indexes int[];
  message_ids bigint[];
begin
  for queue in
    select q.queue_name, c.relname as table_name,
           pg_get_serial_sequence(format('pgmq.%I', c.relname), 'msg_id')::regclass as ids,
           (select max(t.message_id) from pgflow.step_tasks t where t.queue_name = q.queue_name) as last_id
    from pgflow.queues q
    join pg_catalog.pg_class c
      on c.relnamespace = 'pgmq'::regnamespace and c.relname = pgmq.format_table_name(q.queue_name, 'q')
    where queue_names is null or q.queue_name = any (queue_names)
    order by q.queue_name
  loop
    -- One statement, one snapshot: a task and its message come and go together. The newest ids are the living ones.
    execute format(
      'select s.last_value - (not s.is_called)::int,'
      ' exists (select from pgflow.step_tasks t where t.queue_name = $1 and t.status = ''queued'')'
      ' and not exists (select from pgmq.%I m order by m.msg_id desc limit 1) from %s s', queue.table_name, queue.ids)
    into given_id, is_emptied using queue.queue_name;
    continue when not (coalesce(given_id < queue.last_id, false) or is_emptied);

    perform from pgflow.step_tasks t
    where t.queue_name = queue.queue_name and t.status = 'queued'
    order by t.run_id, t.step_slug, t.task_index
    for no key update;
    execute format('lock table pgmq.%I in share row exclusive mode', queue.table_name);
    execute format('select s.last_value - (not s.is_called)::int from %s s', queue.ids) into given_id;
    if given_id < queue.last_id then
      execute format('alter sequence %s restart with %s', queue.ids, queue.last_id + 1);
    end if;

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
$pgflow_file$;
  -- core/05_messages/_resend_task.sql
  execute $pgflow_file$-- core/05_messages/_resend_task.sql
-- Sends the message of a queued task anew and records its id, because the one it
-- had is gone from the queue (purged, or archived by hand).
-- Caller: _show_tasks. Locks: none; the caller holds the task's row.
create function pgflow._resend_task(
  run_id uuid, step_slug text, task_index int, queue_name text, delay int)
returns void
language sql
set search_path = ''
as $$
  update pgflow.step_tasks t
  set message_id = (
    select s
    from pgmq.send($4, jsonb_build_object(
      'flow_slug', t.flow_slug, 'run_id', t.run_id, 'step_slug', t.step_slug,
      'task_index', t.task_index), $5) s)
  where t.run_id = $1 and t.step_slug = $2 and t.task_index = $3
$$;
$pgflow_file$;
  -- core/05_messages/_show_tasks.sql
  execute $pgflow_file$-- core/05_messages/_show_tasks.sql
-- Sets when the messages of queued tasks are visible: the i-th delays[i] seconds from now. A task whose message is gone
-- gets a new one: a queued task without a message would wait for ever. Returns the queues on which one is visible now,
-- for the caller to notify.
-- Parallel arrays: the tasks' keys and their durable pairs; the caller holds the tasks' locks.
-- Locks: the messages, ascending within a queue, queues by name. Errors: 42P01, a queue is gone.
-- Callers: retries, releases, recovery.
create function pgflow._show_tasks(
  run_ids uuid[], step_slugs text[], task_indexes int[], queue_names text[], message_ids bigint[], delays int[])
returns text[]
language plpgsql
set search_path = ''
as $$
declare
  batch record;
  shown bigint[];
begin
  for batch in
    select t.queue_name, count(*) as tasks,
           array_agg(t.message_id) filter (where t.message_id is not null) as ids,
           array_agg(t.delay) filter (where t.message_id is not null) as delays
    from unnest(queue_names, message_ids, delays) as t (queue_name, message_id, delay)
    group by t.queue_name
    order by t.queue_name
  loop
    shown := array(select s.msg_id from pgflow.set_vt_batch(batch.queue_name, batch.ids, batch.delays) s);
    if cardinality(shown) < batch.tasks then
      perform pgflow._resend_task(t.run_id, t.step_slug, t.task_index, batch.queue_name, t.delay)
      from unnest(run_ids, step_slugs, task_indexes, queue_names, message_ids, delays)
             as t (run_id, step_slug, task_index, queue_name, message_id, delay)
      where t.queue_name = batch.queue_name
        and (t.message_id is null or not t.message_id = any (shown));
    end if;
  end loop;

  return array(
    select distinct t.queue_name from unnest(queue_names, delays) as t (queue_name, delay) where t.delay <= 0);
end
$$;
$pgflow_file$;
  -- core/05_messages/set_vt_batch.sql
  execute $pgflow_file$-- core/05_messages/set_vt_batch.sql
-- Sets the visibility of several messages of one queue: message msg_ids[i]
-- becomes visible vt_offsets[i] seconds from now. Returns the messages that
-- exist, as pgmq.read does. Locks: those rows, ascending.
-- Errors: 42P01, no such queue; 22023, arrays of different length.
create function pgflow.set_vt_batch(queue_name text, msg_ids bigint[], vt_offsets int[])
returns table (
  msg_id bigint, read_ct int, enqueued_at timestamptz, vt timestamptz, message jsonb, headers jsonb)
language plpgsql
set search_path = ''
set enable_seqscan = off
as $$
begin
  if coalesce(cardinality(msg_ids), 0) <> coalesce(cardinality(vt_offsets), 0) then
    raise exception 'set_vt_batch: % msg_ids and % vt_offsets',
        coalesce(cardinality(msg_ids), 0), coalesce(cardinality(vt_offsets), 0)
      using errcode = 'invalid_parameter_value',
            hint = 'Give one offset, in seconds, for each message.';
  end if;

  return query execute format($query$
    with wanted as (
      select w.msg_id, max(w.vt_offset) as vt_offset
      from unnest($1, $2) as w(msg_id, vt_offset)
      group by w.msg_id
    ), locked as (
      select m.msg_id
      from pgmq.%1$I m
      where m.msg_id = any ($1)
      order by m.msg_id
      for update
    )
    update pgmq.%1$I m
    set vt = clock_timestamp() + make_interval(secs => wanted.vt_offset)
    from locked join wanted on wanted.msg_id = locked.msg_id
    where m.msg_id = locked.msg_id
    returning m.msg_id, m.read_ct, m.enqueued_at, m.vt, m.message, m.headers
    $query$, pgmq.format_table_name(queue_name, 'q'))
  using msg_ids, vt_offsets;
end
$$;
$pgflow_file$;
  -- core/10_slugs/_lock_name.sql
  execute $pgflow_file$-- core/10_slugs/_lock_name.sql
-- Takes the one lock of a name until the end of the transaction. Aliases and
-- concrete slugs are one namespace, ignoring case, so they share the key. It is
-- an advisory lock because it must also hold for names that do not exist yet.
-- Order: the alias first, then the concrete slug (_lock_flow), then rows.
-- Callers: everything that creates, switches, retires or deletes flows.
create function pgflow._lock_name(name text)
returns void
language sql
set search_path = ''
as $$
  select pg_advisory_xact_lock(1, hashtext(lower(name)))
$$;
$pgflow_file$;
  -- core/10_slugs/is_valid_slug.sql
  execute $pgflow_file$-- core/10_slugs/is_valid_slug.sql
-- Whether a text may name a flow, a step or an alias: 1 to 128 characters,
-- letters, digits and _, not starting with a digit, not "run" (realtime topics
-- and existing clients use that word themselves). Null is not valid.
-- Callers: the checks of flows, steps and flow_aliases, create_flow, add_step.
-- Locks: none.
create function pgflow.is_valid_slug(slug text)
returns boolean
language sql
immutable
parallel safe
set search_path = ''
as $$
  select coalesce(
    length(slug) <= 128 and slug <> 'run' and slug ~ '^[A-Za-z_][A-Za-z0-9_]*$', false)
$$;
$pgflow_file$;
  -- core/15_types/00_type_task_pair.sql
  execute $pgflow_file$-- core/15_types/00_type_task_pair.sql
-- One concrete step of one concrete flow: what a worker can run.
create type pgflow.task_pair as (
  flow_slug text,
  step_slug text
);
$pgflow_file$;
  -- core/20_definitions/00_table_flows.sql
  execute $pgflow_file$-- core/20_definitions/00_table_flows.sql
-- Concrete flows: one row a version. A plain flow is its own alias.
--
-- alias         the stable name under which versions replace each other; never changes
-- opt_*         defaults of the steps: attempts, seconds, seconds
-- queue_mode    flow: every step on lower(flow_slug); step: each on its private
--               queue; routed: each on the literal it names
-- created_at    later than that of every other version of the alias, whatever the
--               clock does: offer_activation orders versions by it
-- retired_at    set by retire_flow; a retired flow takes no new runs
--
-- Locks: a start takes the row for key share, a switch for share, retirement and
-- deletion for update, each after the alias (_lock_name).
create table pgflow.flows (
  flow_slug text primary key,
  alias text not null,
  opt_max_attempts int not null default 3,
  opt_base_delay int not null default 1,
  opt_timeout int not null default 60,
  queue_mode text not null default 'flow',
  created_at timestamptz not null default clock_timestamp(),
  retired_at timestamptz,
  constraint flows_slug_is_valid check (pgflow.is_valid_slug(flow_slug)),
  constraint flows_alias_is_valid check (pgflow.is_valid_slug(alias)),
  constraint flows_max_attempts_in_range check (opt_max_attempts between 0 and 1000),
  constraint flows_base_delay_in_range check (opt_base_delay between 0 and 86400),
  constraint flows_timeout_in_range check (opt_timeout between 1 and 604800),
  constraint flows_queue_mode_is_known check (queue_mode in ('flow', 'step', 'routed')),
  -- Target of the alias table's foreign key: an alias activates only its own versions.
  constraint flows_alias_and_slug unique (alias, flow_slug)
);

create unique index flows_slug_ignoring_case on pgflow.flows (lower(flow_slug));
-- Coverage starts from here, so that retired versions cost nothing.
create index flows_in_service on pgflow.flows (flow_slug) where retired_at is null;
$pgflow_file$;
  -- core/20_definitions/01_table_flow_aliases.sql
  execute $pgflow_file$-- core/20_definitions/01_table_flow_aliases.sql
-- The active concrete flow of each alias: exactly one, of its own versions. An
-- alias without an active version has no row. A plain flow points at itself.
--
-- previous_flow_slug   where the alias goes back to when its active flow is deleted;
--                      may name a flow that is gone
-- Locks: every writer holds _lock_name(alias). Starts read without a lock.
create table pgflow.flow_aliases (
  alias text primary key,
  active_flow_slug text not null,
  previous_flow_slug text,
  activated_at timestamptz not null default clock_timestamp(),
  constraint flow_aliases_alias_is_valid check (pgflow.is_valid_slug(alias)),
  constraint flow_aliases_active_once unique (active_flow_slug),
  -- Deferred: compiling anew deletes the flow and keeps the alias.
  constraint flow_aliases_active_is_a_version
    foreign key (alias, active_flow_slug) references pgflow.flows (alias, flow_slug)
    deferrable initially deferred
);

create unique index flow_aliases_ignoring_case on pgflow.flow_aliases (lower(alias));
$pgflow_file$;
  -- core/20_definitions/02_table_alias_switches.sql
  execute $pgflow_file$-- core/20_definitions/02_table_alias_switches.sql
-- Every switch of every alias, for audit and for offer_activation. No foreign
-- key: it survives the deletion of flows.
--
-- from_flow_slug   null: the alias had no active version
-- to_flow_slug     null: the alias went with its last version
-- at               never before the versions' created_at, whatever the clock does
-- by               session_user; worker_id: the host that offered, null for an operator
-- forced           made although the coverage test did not pass
create table pgflow.alias_switches (
  switch_id bigint generated always as identity primary key,
  alias text not null,
  from_flow_slug text,
  to_flow_slug text,
  at timestamptz not null default clock_timestamp(),
  by text not null default session_user,
  worker_id uuid,
  forced boolean not null default false
);

create index alias_switches_by_alias on pgflow.alias_switches (alias, at);
$pgflow_file$;
  -- core/20_definitions/03_table_queues.sql
  execute $pgflow_file$-- core/20_definitions/03_table_queues.sql
-- Queues that this schema made or adopted; the messages live in pgmq.
--
-- queue_name        canonical: lower case, at most 47 bytes (PGMQ's limit)
-- kind              flow: the default queue of its owner; step: private to one step
--                   of its owner; shared: any flow may route steps there
-- owner_flow_slug   null exactly for shared
create table pgflow.queues (
  queue_name text primary key,
  kind text not null,
  owner_flow_slug text references pgflow.flows (flow_slug),
  created_at timestamptz not null default clock_timestamp(),
  constraint queues_name_is_canonical
    check (octet_length(queue_name) <= 47 and queue_name ~ '^[a-z0-9_]+(-[a-z0-9_]+)*$'),
  constraint queues_kind_is_known check (kind in ('flow', 'step', 'shared')),
  constraint queues_owned_unless_shared check ((kind = 'shared') = (owner_flow_slug is null))
);

create index queues_by_owner on pgflow.queues (owner_flow_slug) where owner_flow_slug is not null;
-- A flow has one default queue: what the three-argument start_tasks reads.
create unique index queues_default_of_flow on pgflow.queues (owner_flow_slug) where kind = 'flow';
$pgflow_file$;
  -- core/20_definitions/04_table_steps.sql
  execute $pgflow_file$-- core/20_definitions/04_table_steps.sql
-- Steps of concrete flows. Everything but the opt_ columns and wants_flow_input
-- is immutable once compiled.
--
-- step_index         position in the flow, from 0; every dependency has a lower one
-- queue_name         the one route of the step
-- opt_*              null: inherit the flow's; start delay in seconds
-- *_input_pattern    objects, tested by containment when the step becomes ready
-- when_unmet         what an unmet condition does; when_exhausted: what the last
--                    failed attempt does
-- contract           the author's text for input and output; compared, never read
create table pgflow.steps (
  flow_slug text not null references pgflow.flows (flow_slug),
  step_slug text not null,
  step_type text not null default 'single',
  step_index int not null,
  deps_count int not null default 0,
  queue_name text not null references pgflow.queues (queue_name),
  opt_max_attempts int,
  opt_base_delay int,
  opt_timeout int,
  opt_start_delay int,
  required_input_pattern jsonb,
  forbidden_input_pattern jsonb,
  when_unmet text not null default 'skip',
  when_exhausted text not null default 'fail',
  wants_flow_input boolean not null default false,
  contract text,
  created_at timestamptz not null default clock_timestamp(),
  primary key (flow_slug, step_slug),
  constraint steps_index_once unique (flow_slug, step_index),
  constraint steps_slug_is_valid check (pgflow.is_valid_slug(step_slug)),
  constraint steps_type_is_known check (step_type in ('single', 'map')),
  constraint steps_index_not_negative check (step_index >= 0),
  constraint steps_deps_count_not_negative check (deps_count >= 0),
  constraint steps_map_has_one_dependency check (step_type <> 'map' or deps_count <= 1),
  constraint steps_max_attempts_in_range check (opt_max_attempts between 0 and 1000),
  constraint steps_base_delay_in_range check (opt_base_delay between 0 and 86400),
  constraint steps_timeout_in_range check (opt_timeout between 1 and 604800),
  constraint steps_start_delay_in_range check (opt_start_delay between 0 and 31536000),
  constraint steps_required_pattern_is_object check (jsonb_typeof(required_input_pattern) = 'object'),
  constraint steps_forbidden_pattern_is_object check (jsonb_typeof(forbidden_input_pattern) = 'object'),
  constraint steps_when_unmet_is_known check (when_unmet in ('fail', 'skip', 'skip-cascade')),
  constraint steps_when_exhausted_is_known check (when_exhausted in ('fail', 'skip', 'skip-cascade')),
  -- The elements of a root map are the run's input: it would arrive once per element.
  constraint steps_root_map_wants_no_flow_input
    check (not (wants_flow_input and step_type = 'map' and deps_count = 0))
);

create index steps_by_queue on pgflow.steps (queue_name, flow_slug);
$pgflow_file$;
  -- core/20_definitions/05_table_deps.sql
  execute $pgflow_file$-- core/20_definitions/05_table_deps.sql
-- Dependencies: step_slug waits for dep_slug. A set; it has no order of its own.
create table pgflow.deps (
  flow_slug text not null,
  dep_slug text not null,
  step_slug text not null,
  primary key (flow_slug, dep_slug, step_slug),
  foreign key (flow_slug, dep_slug) references pgflow.steps (flow_slug, step_slug),
  foreign key (flow_slug, step_slug) references pgflow.steps (flow_slug, step_slug),
  constraint deps_not_on_itself check (dep_slug <> step_slug)
);

create index deps_by_step on pgflow.deps (flow_slug, step_slug);
$pgflow_file$;
  -- core/20_definitions/_alias_clock.sql
  execute $pgflow_file$-- core/20_definitions/_alias_clock.sql
-- The latest time that an alias knows: creation of its versions and its
-- switches. Null for a new one. What is written next is not before it.
-- The caller holds the alias lock.
-- Callers: _insert_flow, _switch_alias.
create function pgflow._alias_clock(alias text)
returns timestamptz
language sql
stable
set search_path = ''
as $$
  select greatest(
    (select max(f.created_at) from pgflow.flows f where f.alias = _alias_clock.alias),
    (select max(s.at) from pgflow.alias_switches s where s.alias = _alias_clock.alias))
$$;
$pgflow_file$;
  -- core/20_definitions/_canonical_queue.sql
  execute $pgflow_file$-- core/20_definitions/_canonical_queue.sql
-- The canonical spelling of a queue name: lower case.
-- Errors: 22023 over 47 bytes (PGMQ's limit, which leaves room for its prefixes),
--         or with characters other than letters, digits, _ and single -.
-- Callers: _provision_queues, add_step.
create function pgflow._canonical_queue(queue_name text)
returns text
language plpgsql
immutable
set search_path = ''
as $$
declare
  name text := lower(queue_name);
begin
  if octet_length(name) > 47 then
    raise exception 'queue name "%" has % bytes; the limit is 47', name, octet_length(name)
      using errcode = 'invalid_parameter_value',
            hint = 'Use a shorter flow or step slug, or route the step to a queue with a shorter name.';
  end if;
  if name is null or name !~ '^[a-z0-9_]+(-[a-z0-9_]+)*$' then
    raise exception 'queue name "%" is not valid', coalesce(queue_name, '(null)')
      using errcode = 'invalid_parameter_value',
            hint = 'Use letters, digits, _ and single hyphens between them.';
  end if;
  return name;
end
$$;
$pgflow_file$;
  -- core/20_definitions/_check_dependencies.sql
  execute $pgflow_file$-- core/20_definitions/_check_dependencies.sql
-- Raises 22023 unless every dependency of a new step is an existing step of the
-- flow, and named once.
-- Callers: add_step.
create function pgflow._check_dependencies(flow_slug text, step_slug text, deps_slugs text[])
returns void
language plpgsql
stable
set search_path = ''
as $$
declare
  bad text;
begin
  select d.slug into bad from unnest(deps_slugs) as d (slug) group by d.slug having count(*) > 1 limit 1;
  if found then
    raise exception 'step "%" of flow "%" names dependency "%" twice', step_slug, flow_slug, bad
      using errcode = 'invalid_parameter_value', hint = 'Name it once.';
  end if;

  select coalesce(d.slug, '(null)') into bad
  from unnest(deps_slugs) as d (slug)
  where not exists (
    select from pgflow.steps s
    where s.flow_slug = _check_dependencies.flow_slug and s.step_slug = d.slug)
  limit 1;
  if found then
    raise exception 'step "%" of flow "%" depends on unknown step "%"', step_slug, flow_slug, bad
      using errcode = 'invalid_parameter_value', hint = 'Add that step first; slugs are case sensitive.';
  end if;
end
$$;
$pgflow_file$;
  -- core/20_definitions/_check_known_queues.sql
  execute $pgflow_file$-- core/20_definitions/_check_known_queues.sql
-- Raises 55000 when a queue that was known before this call cannot serve: it is
-- private to another flow, shared where a private one is wanted, or PGMQ no
-- longer lists it (its messages are lost; making it anew would hide that).
-- just_made: rows of this call, not looked at.
-- Callers: _provision_queues.
create function pgflow._check_known_queues(
  queue_names text[],
  kind text,
  flow_slug text,
  just_made text[]
)
returns void
language plpgsql
set search_path = ''
as $$
declare
  bad record;
begin
  select q.queue_name, q.kind, q.owner_flow_slug,
         not exists (select from pgmq.meta m where lower(m.queue_name) = q.queue_name) as is_gone
  into bad
  from pgflow.queues q
  where q.queue_name = any (queue_names)
    and q.queue_name <> all (just_made)
    and ((q.kind <> _check_known_queues.kind or q.owner_flow_slug <> _check_known_queues.flow_slug)
           and q.owner_flow_slug is distinct from _check_known_queues.flow_slug
         or not exists (select from pgmq.meta m where lower(m.queue_name) = q.queue_name))
  order by q.queue_name
  limit 1;

  if bad.is_gone then
    raise exception 'queue "%" is known to pgflow.queues, but PGMQ no longer lists it', bad.queue_name
      using errcode = 'object_not_in_prerequisite_state',
            detail = 'Somebody dropped it; the messages of its queued tasks are gone with it.',
            hint = format('Restore it, or make it anew: select pgmq.create(%L). The messages of its queued tasks are '
                          'then sent again.', bad.queue_name);
  elsif bad.kind = 'shared' then
    raise exception 'queue "%" is shared and cannot become private to flow "%"', bad.queue_name, flow_slug
      using errcode = 'object_not_in_prerequisite_state',
            hint = 'Use another slug, or route the steps to that queue by name.';
  elsif found then
    raise exception 'queue "%" is private to flow "%" and cannot serve flow "%"',
        bad.queue_name, bad.owner_flow_slug, flow_slug
      using errcode = 'object_not_in_prerequisite_state',
            hint = 'A private queue never becomes shared: use another queue name or flow slug.';
  end if;
end
$$;
$pgflow_file$;
  -- core/20_definitions/_check_new_name.sql
  execute $pgflow_file$-- core/20_definitions/_check_new_name.sql
-- Raises unless a new concrete flow may take this slug and this alias: both
-- valid, and each name, ignoring case, used for one thing only. Only a plain
-- flow's own alias equals a slug.
-- The caller holds the locks of both names (_lock_flow), and knows that the slug
-- itself is free.
-- Errors: 22023 invalid, 42710 taken.
-- Callers: _insert_flow.
create function pgflow._check_new_name(flow_slug text, alias text)
returns void
language plpgsql
set search_path = ''
as $$
declare
  bad text;
  taken record;
begin
  select n.name into bad
  from unnest(array[flow_slug, alias]) as n (name)
  where not pgflow.is_valid_slug(n.name)
  limit 1;
  if found then
    raise exception 'flow slug or alias "%" is not valid', coalesce(bad, '(null)')
      using errcode = 'invalid_parameter_value',
            hint = 'Use 1 to 128 letters, digits and _, not starting with a digit; "run" is reserved.';
  end if;

  select f.flow_slug, f.alias into taken
  from pgflow.flows f
  where lower(f.flow_slug) = lower(_check_new_name.flow_slug)
     or lower(f.flow_slug) = lower(_check_new_name.alias)
     or lower(f.alias) = lower(_check_new_name.flow_slug)
     or (lower(f.alias) = lower(_check_new_name.alias) and f.alias <> _check_new_name.alias)
  order by f.flow_slug
  limit 1;
  if found then
    raise exception 'flow "%" with alias "%" cannot be made: a name is taken by flow "%" with alias "%"',
        flow_slug, alias, taken.flow_slug, taken.alias
      using errcode = 'duplicate_object',
            detail = 'Slugs and aliases are one namespace, ignoring case; only a plain flow''s alias equals a slug.',
            hint = 'Choose another slug or alias.';
  end if;
end
$$;
$pgflow_file$;
  -- core/20_definitions/_check_options.sql
  execute $pgflow_file$-- core/20_definitions/_check_options.sql
-- Raises 22023 when an option of a flow or step is out of range; null is fine.
-- thing: how the message names it, such as: step "a" of flow "f".
-- Callers: _insert_flow, add_step.
create function pgflow._check_options(
  thing text,
  max_attempts int,
  base_delay int,
  timeout int,
  start_delay int
)
returns void
language plpgsql
immutable
set search_path = ''
as $$
declare
  bad record;
begin
  select o.* into bad
  from (values
    ('max_attempts', max_attempts, 0, 1000),
    ('base_delay', base_delay, 0, 86400),
    ('timeout', timeout, 1, 604800),
    ('start_delay', start_delay, 0, 31536000)
  ) as o (name, given, lowest, highest)
  where o.given not between o.lowest and o.highest
  limit 1;

  if found then
    raise exception '%: % is %', thing, bad.name, bad.given
      using errcode = 'invalid_parameter_value',
            hint = format('It must be from %s to %s.', bad.lowest, bad.highest);
  end if;
end
$$;
$pgflow_file$;
  -- core/20_definitions/_check_step.sql
  execute $pgflow_file$-- core/20_definitions/_check_step.sql
-- Raises 22023 when a value of a step is not valid by itself, whatever flow it is in.
-- Callers: add_step.
create function pgflow._check_step(step pgflow.steps, deps_slugs text[])
returns void
language plpgsql
immutable
set search_path = ''
as $$
declare
  thing text := format('step "%s" of flow "%s"', step.step_slug, step.flow_slug);
  bad record;
begin
  select v.* into bad
  from (values
    (pgflow.is_valid_slug(step.step_slug), 'the slug', step.step_slug,
     'Use 1 to 128 letters, digits and _, not starting with a digit; "run" is reserved.'),
    (step.step_type in ('single', 'map'), 'step_type', step.step_type, 'Use single or map.'),
    (step.when_unmet in ('fail', 'skip', 'skip-cascade'), 'when_unmet', step.when_unmet,
     'Use fail, skip or skip-cascade.'),
    (step.when_exhausted in ('fail', 'skip', 'skip-cascade'), 'when_exhausted', step.when_exhausted,
     'Use fail, skip or skip-cascade.'),
    (coalesce(jsonb_typeof(step.required_input_pattern), 'object') = 'object', 'required_input_pattern',
     left(step.required_input_pattern::text, 80), 'Use a JSON object.'),
    (coalesce(jsonb_typeof(step.forbidden_input_pattern), 'object') = 'object', 'forbidden_input_pattern',
     left(step.forbidden_input_pattern::text, 80), 'Use a JSON object.'),
    (step.step_type <> 'map' or cardinality(deps_slugs) <= 1, 'deps_slugs of a map step', deps_slugs::text,
     'A map step has at most one dependency: the one whose array it maps.')
  ) as v (is_good, name, given, remedy)
  where v.is_good is not true
  limit 1;

  if found then
    raise exception '%: % is not valid: %', thing, bad.name, coalesce(bad.given, '(null)')
      using errcode = 'invalid_parameter_value', hint = bad.remedy;
  end if;
  perform pgflow._check_options(thing, step.opt_max_attempts, step.opt_base_delay, step.opt_timeout,
                                step.opt_start_delay);
end
$$;
$pgflow_file$;
  -- core/20_definitions/_check_unknown_queues.sql
  execute $pgflow_file$-- core/20_definitions/_check_unknown_queues.sql
-- Raises 55000 when a queue that this call is about to make exists in PGMQ
-- already and may not be adopted: its messages belong to somebody else. Names
-- that differ only by case share their tables, so PGMQ must not have two.
-- Callers: _provision_queues.
create function pgflow._check_unknown_queues(queue_names text[], kind text, adopt text[])
returns void
language plpgsql
set search_path = ''
as $$
declare
  bad record;
begin
  select lower(m.queue_name) as name, count(*) as spellings,
         string_agg(format('"%s"', m.queue_name), ', ' order by m.queue_name) as shown
  into bad
  from pgmq.meta m
  where lower(m.queue_name) = any (queue_names)
  group by lower(m.queue_name)
  having count(*) > 1
      or kind <> 'shared'
      or lower(m.queue_name) <> all (
           coalesce((select array_agg(lower(a.name)) from unnest(adopt) as a (name)), '{}'))
  order by 1
  limit 1;

  if bad.spellings > 1 then
    raise exception 'PGMQ has queues that differ only by case: %', bad.shown
      using errcode = 'object_not_in_prerequisite_state',
            hint = 'They share their tables. Drop all but one.';
  elsif kind <> 'shared' and found then
    raise exception 'queue "%" exists in PGMQ and cannot become a private queue', bad.name
      using errcode = 'object_not_in_prerequisite_state',
            hint = 'Use another slug, or drop that queue, or adopt it as shared and route the steps to it by name.';
  elsif found then
    raise exception 'queue "%" exists in PGMQ and is unknown to pgflow', bad.name
      using errcode = 'object_not_in_prerequisite_state',
            detail = 'Somebody else may be sending to it or reading from it.',
            hint = format('Name it in adopt (pgflow-host --adopt-queue %s) to take it over as shared; its old '
                          'messages stay and are reported as foreign.', bad.name);
  end if;
end
$$;
$pgflow_file$;
  -- core/20_definitions/_insert_flow.sql
  execute $pgflow_file$-- core/20_definitions/_insert_flow.sql
-- Inserts the row of a new concrete flow; nulls take the defaults 3, 5 and 60.
-- created_at is later than that of every version of the alias and than its last
-- switch, also when the clock stepped back: offer_activation compares them.
-- The caller holds the locks of alias and slug.
-- Callers: create_flow, _insert_deployment.
create function pgflow._insert_flow(
  flow_slug text,
  alias text,
  queue_mode text,
  max_attempts int,
  base_delay int,
  timeout int
)
returns pgflow.flows
language plpgsql
set search_path = ''
as $$
declare
  flow pgflow.flows;
begin
  perform pgflow._check_new_name(flow_slug, alias);
  perform pgflow._check_options(format('flow "%s"', flow_slug), max_attempts, base_delay, timeout, null);

  insert into pgflow.flows (flow_slug, alias, queue_mode, opt_max_attempts, opt_base_delay, opt_timeout, created_at)
  select _insert_flow.flow_slug, _insert_flow.alias, _insert_flow.queue_mode,
         coalesce(_insert_flow.max_attempts, 3), coalesce(_insert_flow.base_delay, 5),
         coalesce(_insert_flow.timeout, 60),
         greatest(clock_timestamp(), pgflow._alias_clock(_insert_flow.alias) + interval '1 microsecond')
  returning * into flow;
  return flow;
end
$$;
$pgflow_file$;
  -- core/20_definitions/_lock_flow.sql
  execute $pgflow_file$-- core/20_definitions/_lock_flow.sql
-- Locks a flow's alias, then its slug (_lock_name), for the transaction, and
-- returns its row, or null when there is no such flow. new_alias is locked too:
-- that of a deployment about to be made or compared.
-- Errors: 40001 when the flow moved to another alias while this waited; locking
--         that one as well would be against the lock order. 55000 in a transaction
--         that is not read committed: it would judge by what it saw before it waited.
-- Callers: create_flow, ensure_*, retirement, deletion, switches.
create function pgflow._lock_flow(flow_slug text, new_alias text default null)
returns pgflow.flows
language plpgsql
set search_path = ''
as $$
declare
  seen_alias text;
  flow pgflow.flows;
begin
  if current_setting('transaction_isolation') <> 'read committed' then
    raise exception 'flow "%" cannot be locked in a transaction that is %', flow_slug,
        current_setting('transaction_isolation')
      using errcode = 'object_not_in_prerequisite_state',
            hint = 'Use read committed: what others commit while this waits for a lock must be seen.';
  end if;

  select f.alias into seen_alias from pgflow.flows f where f.flow_slug = _lock_flow.flow_slug;

  perform pgflow._lock_name(n.name)
  from (
    select distinct lower(a.name) as name
    from unnest(array[seen_alias, new_alias]) as a (name)
    where a.name is not null
    order by 1
  ) as n;
  perform pgflow._lock_name(flow_slug);

  select f.* into flow from pgflow.flows f where f.flow_slug = _lock_flow.flow_slug;
  if lower(flow.alias) not in (
       lower(flow_slug), lower(coalesce(seen_alias, flow_slug)), lower(coalesce(new_alias, flow_slug))) then
    raise exception 'flow "%" was replaced while it was being locked', flow_slug
      using errcode = 'serialization_failure', hint = 'Repeat the call.';
  end if;
  return flow;
end
$$;
$pgflow_file$;
  -- core/20_definitions/_provision_queues.sql
  execute $pgflow_file$-- core/20_definitions/_provision_queues.sql
-- Makes sure that queues exist with the kind wanted, for one flow: creates the
-- absent ones in PGMQ, adopts those named in adopt, heals those that were dropped
-- and made anew, refuses everything else.
--
-- queue_names    canonical or not, one kind for all of them
-- kind           flow, step (owned by flow_slug) or shared; a queue that this flow
--                owns already serves for any kind
-- adopt          queues that PGMQ has and this schema does not know may become
--                shared; their old messages are foreign
-- Two calls that make the same queue: the insert into queues makes the second
-- wait, names in order, and then finds it known.
-- Errors: 22023 bad name; 55000 private where shared is wanted or the other way
--         round, owned by another flow, unknown but existing, known but gone.
-- Callers: create_flow, add_step, ensure_deployment.
create function pgflow._provision_queues(
  queue_names text[],
  kind text,
  flow_slug text,
  adopt text[] default '{}'
)
returns void
language plpgsql
set search_path = ''
as $$
declare
  wanted text[];
  made text[];
begin
  select array_agg(distinct pgflow._canonical_queue(q.name) order by pgflow._canonical_queue(q.name))
  into wanted
  from unnest(queue_names) as q (name);

  with added as (
    insert into pgflow.queues as q (queue_name, kind, owner_flow_slug)
    select w.name, _provision_queues.kind,
           case when _provision_queues.kind <> 'shared' then _provision_queues.flow_slug end
    from unnest(wanted) as w (name)
    order by w.name
    on conflict on constraint queues_pkey do nothing
    returning q.queue_name
  )
  select array_agg(a.queue_name order by a.queue_name) into made from added a;

  perform pgflow._check_known_queues(wanted, kind, flow_slug, coalesce(made, '{}'));
  perform pgflow._check_unknown_queues(coalesce(made, '{}'), kind, adopt);

  perform pgmq.create(m.name)
  from unnest(made) as m (name)
  where not exists (select from pgmq.meta q where lower(q.queue_name) = m.name);
  perform pgflow._renew_queues(wanted);
end
$$;
$pgflow_file$;
  -- core/20_definitions/_raise_unknown_flow.sql
  execute $pgflow_file$-- core/20_definitions/_raise_unknown_flow.sql
-- Raises 42704 for a concrete slug that does not exist; when it is an alias the
-- message names the active version.
-- Callers: whatever takes a concrete slug only.
create function pgflow._raise_unknown_flow(flow_slug text)
returns void
language plpgsql
set search_path = ''
as $$
declare
  active text;
begin
  select a.active_flow_slug into active
  from pgflow.flow_aliases a
  where a.alias = _raise_unknown_flow.flow_slug;

  if active is not null then
    raise exception 'flow "%" does not exist: it is an alias, and its active version is "%"', flow_slug, active
      using errcode = 'undefined_object', hint = 'Give the concrete slug.';
  end if;
  raise exception 'flow "%" does not exist', flow_slug
    using errcode = 'undefined_object', hint = 'The table pgflow.flows lists the flows; slugs are case sensitive.';
end
$$;
$pgflow_file$;
  -- core/20_definitions/_require_flow.sql
  execute $pgflow_file$-- core/20_definitions/_require_flow.sql
-- Locks a flow like _lock_flow and returns its row; raises when there is none.
-- Errors: 42704 names the slug; says so when it is an alias.
-- Callers: retire_flow, unretire_flow, delete_flow_and_data, apply_flow_options,
--          offer_activation.
create function pgflow._require_flow(flow_slug text)
returns pgflow.flows
language plpgsql
set search_path = ''
as $$
declare
  flow pgflow.flows := pgflow._lock_flow(flow_slug);
begin
  if flow.flow_slug is null then
    perform pgflow._raise_unknown_flow(flow_slug);
  end if;
  return flow;
end
$$;
$pgflow_file$;
  -- core/20_definitions/_route_new_step.sql
  execute $pgflow_file$-- core/20_definitions/_route_new_step.sql
-- The queue of a new step, provisioned. A queue name other than the flow's own
-- makes the flow routed: from then on its default queue is one route of several.
-- Locks: the flow row is locked by the caller.
-- Errors: 22023 a routed flow without default queue wants a name; as _provision_queues.
-- Callers: add_step.
create function pgflow._route_new_step(flow pgflow.flows, step_slug text, queue_name text)
returns text
language plpgsql
set search_path = ''
as $$
declare
  default_queue text := lower(flow.flow_slug);
  private_queue text := lower(flow.flow_slug) || '__' || lower(step_slug);
  route text := lower(queue_name);
begin
  if flow.queue_mode = 'step' and coalesce(route, private_queue) = private_queue then
    perform pgflow._provision_queues(array[private_queue], 'step', flow.flow_slug);
    return private_queue;
  end if;
  if coalesce(route, default_queue) = default_queue
     and exists (select from pgflow.queues q
                 where q.queue_name = default_queue and q.owner_flow_slug = flow.flow_slug) then
    perform pgflow._provision_queues(array[default_queue], 'flow', flow.flow_slug);
    return default_queue;
  end if;
  if route is null then
    raise exception 'step "%" of routed flow "%" names no queue', step_slug, flow.flow_slug
      using errcode = 'invalid_parameter_value', hint = 'Give queue_name.';
  end if;

  perform pgflow._provision_queues(array[route], 'shared', flow.flow_slug);
  update pgflow.flows f set queue_mode = 'routed'
  where f.flow_slug = flow.flow_slug and f.queue_mode <> 'routed';
  return route;
end
$$;
$pgflow_file$;
  -- core/20_definitions/_same_step.sql
  execute $pgflow_file$-- core/20_definitions/_same_step.sql
-- Returns the stored step when the one given has the same structure; options are
-- not structure. queue_name null: whatever it is routed to.
-- Errors: 55000 with the parts that differ.
-- Callers: add_step.
create function pgflow._same_step(given pgflow.steps, deps_slugs text[], queue_name text)
returns pgflow.steps
language plpgsql
stable
set search_path = ''
as $$
declare
  stored pgflow.steps;
  stored_deps text[];
  differing text;
begin
  select s.* into stored
  from pgflow.steps s
  where s.flow_slug = given.flow_slug and s.step_slug = given.step_slug;
  select coalesce(array_agg(d.dep_slug order by d.dep_slug), '{}') into stored_deps
  from pgflow.deps d
  where d.flow_slug = given.flow_slug and d.step_slug = given.step_slug;
  select coalesce(array_agg(d.slug order by d.slug), '{}') into deps_slugs from unnest(deps_slugs) as d (slug);

  select string_agg(format('%s is %s, given %s', p.name, coalesce(p.stored, 'null'), coalesce(p.given, 'null')), '; ')
  into differing
  from (values
    ('step_type', stored.step_type, given.step_type),
    ('deps_slugs', stored_deps::text, deps_slugs::text),
    ('queue_name', stored.queue_name, coalesce(queue_name, stored.queue_name)),
    ('when_unmet', stored.when_unmet, given.when_unmet),
    ('when_exhausted', stored.when_exhausted, given.when_exhausted),
    ('required_input_pattern', stored.required_input_pattern::text, given.required_input_pattern::text),
    ('forbidden_input_pattern', stored.forbidden_input_pattern::text, given.forbidden_input_pattern::text)
  ) as p (name, stored, given)
  where p.stored is distinct from p.given;

  if differing is not null then
    raise exception 'step "%" of flow "%" exists with another structure: %', given.step_slug, given.flow_slug, differing
      using errcode = 'object_not_in_prerequisite_state',
            hint = 'A step never changes: use a new concrete flow slug, or delete the flow in development.';
  end if;
  return stored;
end
$$;
$pgflow_file$;
  -- core/20_definitions/_switch_alias.sql
  execute $pgflow_file$-- core/20_definitions/_switch_alias.sql
-- Points an alias at one of its versions and records the switch; to_flow_slug
-- null takes the alias away. The only writer of flow_aliases and alias_switches.
-- worker_id: the host that offered; null for an operator or a definition.
-- The caller holds the alias lock and has made every test.
-- Callers: create_flow, ensure_flow_compiled, ensure_deployment, activate_flow,
--          offer_activation, _leave_alias.
create function pgflow._switch_alias(
  alias text,
  to_flow_slug text,
  worker_id uuid default null,
  forced boolean default false
)
returns void
language plpgsql
set search_path = ''
as $$
declare
  from_flow_slug text;
  switched_at timestamptz := greatest(clock_timestamp(), pgflow._alias_clock(alias));
begin
  select a.active_flow_slug into from_flow_slug
  from pgflow.flow_aliases a
  where a.alias = _switch_alias.alias;

  if to_flow_slug is null then
    delete from pgflow.flow_aliases a where a.alias = _switch_alias.alias;
  else
    insert into pgflow.flow_aliases as a (alias, active_flow_slug, activated_at)
    values (_switch_alias.alias, _switch_alias.to_flow_slug, switched_at)
    on conflict on constraint flow_aliases_pkey do update
    set active_flow_slug = excluded.active_flow_slug,
        previous_flow_slug = a.active_flow_slug,
        activated_at = excluded.activated_at;
  end if;

  insert into pgflow.alias_switches (alias, from_flow_slug, to_flow_slug, at, by, worker_id, forced)
  values (_switch_alias.alias, from_flow_slug, _switch_alias.to_flow_slug, switched_at,
          session_user, _switch_alias.worker_id, _switch_alias.forced);
end
$$;
$pgflow_file$;
  -- core/20_definitions/add_step.sql
  execute $pgflow_file$-- core/20_definitions/add_step.sql
-- Adds the next step to a flow. Dependencies must exist already, so a flow has
-- no cycles. Idempotent: an existing step of the same structure is returned as it
-- is, options included; one of another structure is an error.
--
-- queue_name   null: the flow's default queue, or the private queue of the step in
--              a flow of mode step. A name: that queue, made as shared when absent;
--              the flow is routed from then on.
-- Locks: the flow row for no key update (two callers number their steps in turn;
--        starts go on).
-- Errors: 42704 unknown flow; 22023 bad value; 55000 queue or other structure.
-- Callers: clients, migrations of existing installations.
create function pgflow.add_step(
  flow_slug text,
  step_slug text,
  deps_slugs text[] default '{}',
  max_attempts int default null,
  base_delay int default null,
  timeout int default null,
  start_delay int default null,
  step_type text default 'single',
  required_input_pattern jsonb default null,
  forbidden_input_pattern jsonb default null,
  when_unmet text default 'skip',
  when_exhausted text default 'fail',
  queue_name text default null
)
returns pgflow.steps
language plpgsql
set search_path = ''
as $$
declare
  flow pgflow.flows;
  step pgflow.steps;
begin
  select f.* into flow from pgflow.flows f where f.flow_slug = add_step.flow_slug for no key update;
  if not found then
    perform pgflow._raise_unknown_flow(flow_slug);
  end if;

  step := row(flow_slug, step_slug, step_type, null, coalesce(cardinality(deps_slugs), 0), null,
              max_attempts, base_delay, timeout, start_delay, required_input_pattern,
              forbidden_input_pattern, when_unmet, when_exhausted, false, null, null);
  deps_slugs := coalesce(deps_slugs, '{}');
  perform pgflow._check_step(step, deps_slugs);

  if exists (select from pgflow.steps s
             where s.flow_slug = add_step.flow_slug and s.step_slug = add_step.step_slug) then
    return pgflow._same_step(step, deps_slugs, lower(queue_name));
  end if;

  perform pgflow._check_dependencies(flow_slug, step_slug, deps_slugs);
  step.queue_name := pgflow._route_new_step(flow, step_slug, queue_name);
  select count(*) into step.step_index from pgflow.steps s where s.flow_slug = add_step.flow_slug;
  step.created_at := clock_timestamp();

  insert into pgflow.steps select step.*;
  insert into pgflow.deps (flow_slug, dep_slug, step_slug)
  select add_step.flow_slug, d.slug, add_step.step_slug from unnest(deps_slugs) as d (slug);
  return step;
end
$$;
$pgflow_file$;
  -- core/20_definitions/create_flow.sql
  execute $pgflow_file$-- core/20_definitions/create_flow.sql
-- Defines a plain flow, which is its own alias, active at once, with its default
-- queue lower(flow_slug). Idempotent: an existing flow is returned as it is,
-- options included. Null options take 3 attempts, 5 s and 60 s.
-- Locks: the name.
-- Errors: 22023 invalid slug, option or queue name; 42710 name taken; 55000 queue.
-- Callers: clients, migrations of existing installations.
create function pgflow.create_flow(
  flow_slug text,
  max_attempts int default null,
  base_delay int default null,
  timeout int default null
)
returns pgflow.flows
language plpgsql
set search_path = ''
as $$
declare
  flow pgflow.flows := pgflow._lock_flow(flow_slug);
begin
  if flow.flow_slug is not null then
    return flow;
  end if;

  flow := pgflow._insert_flow(flow_slug, flow_slug, 'flow', max_attempts, base_delay, timeout);
  perform pgflow._provision_queues(array[flow_slug], 'flow', flow_slug);
  perform pgflow._switch_alias(flow_slug, flow_slug);
  return flow;
end
$$;
$pgflow_file$;
  -- core/25_deployments/_activate_first.sql
  execute $pgflow_file$-- core/25_deployments/_activate_first.sql
-- Activates a version when its alias has no active one, and says how it stands:
-- activated (by this call), active, or inactive. A retired version is never made
-- active, and counts as inactive where it still is its own alias. may_switch false:
-- only says.
-- The caller holds the alias lock.
-- Callers: ensure_flow_compiled, ensure_deployment, _create_flow_from_shape.
create function pgflow._activate_first(flow pgflow.flows, may_switch boolean default true)
returns text
language plpgsql
set search_path = ''
as $$
declare
  active text;
begin
  if flow.retired_at is not null then
    return 'inactive';
  end if;

  select a.active_flow_slug into active from pgflow.flow_aliases a where a.alias = flow.alias;
  if active is null and may_switch then
    perform pgflow._switch_alias(flow.alias, flow.flow_slug);
    return 'activated';
  end if;
  return case when active = flow.flow_slug then 'active' else 'inactive' end;
end
$$;
$pgflow_file$;
  -- core/25_deployments/_check_deployment.sql
  execute $pgflow_file$-- core/25_deployments/_check_deployment.sql
-- Raises 22023 unless a deployment is whole and valid by itself; every problem is
-- told. by_host: with the stricter rules for hosts (_name_problems).
-- Callers: ensure_flow_compiled, ensure_deployment, flow_option_drift.
create function pgflow._check_deployment(deployment jsonb, by_host boolean)
returns void
language plpgsql
immutable
set search_path = ''
as $$
declare
  problems text[] := array(select * from pgflow._structure_problems(deployment));
begin
  -- Each stage reads what the one before has found to be readable.
  if problems = '{}' then
    problems := array(select * from pgflow._option_problems(deployment));
  end if;
  if problems = '{}' then
    problems := array(select * from pgflow._name_problems(deployment, by_host));
  end if;
  if problems = '{}' then
    problems := array(
      select * from pgflow._graph_problems(deployment)
      union all
      select * from pgflow._route_problems(deployment));
  end if;

  perform pgflow._raise_problems(
    format('deployment of flow "%s" is not valid', coalesce(deployment ->> 'flowSlug', '(none)')), problems,
    'invalid_parameter_value', 'Mend what the module, or the given shape, says of the flow.');
end
$$;
$pgflow_file$;
  -- core/25_deployments/_compare_flow_shapes.sql
  execute $pgflow_file$-- core/25_deployments/_compare_flow_shapes.sql
-- The differences of two shapes as readable lines, in step order; none when they
-- are the same. local: the deployment's; db: the one stored.
-- Compared: slug, type, dependencies as a set, condition modes and patterns.
-- Where the slugs of a position differ, nothing else of it is compared.
-- Callers: _deployment_differences, existing clients.
create function pgflow._compare_flow_shapes(local jsonb, db jsonb)
returns text[]
language sql
immutable
set search_path = ''
as $$
  select coalesce(array_agg(d.line order by d.step_index, d.part), '{}')
  from (
    select coalesce(l.step_index, s.step_index) as step_index, p.part, p.line
    from pgflow._deployment_steps(local) as l
    full join pgflow._deployment_steps(db) as s on s.step_index = l.step_index
    cross join lateral (values
      (1, case
        when s.step_slug is null then format('step %s "%s" is in the deployment only', l.step_index, l.step_slug)
        when l.step_slug is null then format('step %s "%s" is in the database only', s.step_index, s.step_slug)
        when s.step_slug <> l.step_slug
          then format('step %s: "%s" in the database, "%s" in the deployment', s.step_index, s.step_slug, l.step_slug)
      end),
      (2, pgflow._difference('type', s.step_slug, l.step_slug, s.step_type, l.step_type)),
      (3, pgflow._difference('dependencies', s.step_slug, l.step_slug,
            format('[%s]', array_to_string(s.dependencies, ', ')),
            format('[%s]', array_to_string(l.dependencies, ', ')))),
      (4, pgflow._difference('whenUnmet', s.step_slug, l.step_slug, s.when_unmet, l.when_unmet)),
      (5, pgflow._difference('whenExhausted', s.step_slug, l.step_slug, s.when_exhausted, l.when_exhausted)),
      (6, pgflow._difference('requiredInputPattern', s.step_slug, l.step_slug,
            s.required_input_pattern::text, l.required_input_pattern::text)),
      (7, pgflow._difference('forbiddenInputPattern', s.step_slug, l.step_slug,
            s.forbidden_input_pattern::text, l.forbidden_input_pattern::text))
    ) as p (part, line)
    where p.line is not null
  ) as d
$$;
$pgflow_file$;
  -- core/25_deployments/_compile.sql
  execute $pgflow_file$-- core/25_deployments/_compile.sql
-- Brings the stored flow and a checked deployment together and says how:
-- compiled     it was new and is written
-- verified     they agree; its queues are still there
-- recompiled   they differ and may_lose_data: flow and data deleted, written anew,
--              the alias kept where it stays the same
-- mismatch     they differ: nothing changed
-- The caller holds the locks of alias and slug. flow: as _lock_flow returned it.
-- Errors: as _insert_deployment; 55000 when a queue of a verified flow is gone.
-- Callers: ensure_flow_compiled, ensure_deployment.
create function pgflow._compile(
  flow pgflow.flows,
  deployment jsonb,
  differences text[],
  may_lose_data boolean,
  adopt text[] default '{}'
)
returns text
language plpgsql
set search_path = ''
as $$
begin
  if flow.flow_slug is null then
    perform pgflow._insert_deployment(deployment, adopt);
    return 'compiled';
  end if;

  if differences = '{}' then
    perform pgflow._check_known_queues(
      array(select s.queue_name from pgflow.steps s where s.flow_slug = flow.flow_slug),
      case flow.queue_mode when 'routed' then 'shared' else flow.queue_mode end,
      flow.flow_slug, '{}');
    perform pgflow._renew_queues(
      array(select s.queue_name from pgflow.steps s where s.flow_slug = flow.flow_slug));
    return 'verified';
  end if;

  if not may_lose_data then
    return 'mismatch';
  end if;
  if flow.alias <> coalesce(deployment ->> 'alias', flow.flow_slug) then
    perform pgflow._leave_alias(flow);
  end if;
  perform pgflow._delete_flow(flow);
  perform pgflow._insert_deployment(deployment, adopt);
  return 'recompiled';
end
$$;
$pgflow_file$;
  -- core/25_deployments/_create_flow_from_shape.sql
  execute $pgflow_file$-- core/25_deployments/_create_flow_from_shape.sql
-- Defines a plain flow from a shape, in one go; it must not exist.
-- Locks: the name. Errors: 22023 bad shape, 42710 name taken, 55000 queue.
-- Callers: existing clients.
create function pgflow._create_flow_from_shape(flow_slug text, shape jsonb)
returns void
language plpgsql
set search_path = ''
as $$
declare
  deployment jsonb := pgflow._plain_deployment(flow_slug, shape);
begin
  perform pgflow._check_deployment(deployment, false);
  perform pgflow._lock_flow(flow_slug);
  perform pgflow._activate_first(pgflow._insert_deployment(deployment));
end
$$;
$pgflow_file$;
  -- core/25_deployments/_delete_flow.sql
  execute $pgflow_file$-- core/25_deployments/_delete_flow.sql
-- Deletes a flow with its runs, tasks and messages, and drops the queues that it
-- owns. Shared queues lose only this flow's active messages. The alias row is the
-- caller's affair (its foreign key is deferred).
-- Locks, in lock order: the flow row for update (starts wait, then find nothing),
-- its runs, its tasks, then messages; the caller holds alias and slug.
-- Callers: delete_flow_and_data, _compile.
create function pgflow._delete_flow(flow pgflow.flows)
returns void
language plpgsql
set search_path = ''
as $$
declare
  own_queues text[];
begin
  perform from pgflow.flows f where f.flow_slug = flow.flow_slug for update;
  perform from pgflow.runs r where r.flow_slug = flow.flow_slug order by r.run_id for update;
  -- Claims lock tasks alone; deleting under their feet would leave them a message.
  perform from pgflow.step_tasks t
  where t.run_id in (select r.run_id from pgflow.runs r where r.flow_slug = flow.flow_slug)
  order by t.run_id, t.step_slug, t.task_index
  for update;

  select array_agg(q.queue_name order by q.queue_name) into own_queues
  from pgflow.queues q
  where q.owner_flow_slug = flow.flow_slug;

  perform pgflow._archive(array_agg(t.queue_name), array_agg(t.message_id))
  from pgflow.step_tasks t
  where t.flow_slug = flow.flow_slug
    and t.status in ('queued', 'started')
    and t.queue_name <> all (coalesce(own_queues, '{}'));

  delete from pgflow.step_tasks t
  using pgflow.runs r
  where t.run_id = r.run_id and r.flow_slug = flow.flow_slug;
  delete from pgflow.step_states s
  using pgflow.runs r
  where s.run_id = r.run_id and r.flow_slug = flow.flow_slug;
  delete from pgflow.runs r where r.flow_slug = flow.flow_slug;
  delete from pgflow.deps d where d.flow_slug = flow.flow_slug;
  delete from pgflow.steps s where s.flow_slug = flow.flow_slug;

  -- By the spelling that PGMQ has stored.
  perform pgmq.drop_queue(m.queue_name)
  from pgmq.meta m
  where lower(m.queue_name) = any (own_queues);
  delete from pgflow.queues q where q.owner_flow_slug = flow.flow_slug;
  delete from pgflow.flows f where f.flow_slug = flow.flow_slug;
end
$$;
$pgflow_file$;
  -- core/25_deployments/_deployment_differences.sql
  execute $pgflow_file$-- core/25_deployments/_deployment_differences.sql
-- How a deployment differs from the stored flow, as readable lines: the shape,
-- then alias, queue mode, routes and contracts, which are as immutable. Options
-- are not compared here (_option_drift).
-- Callers: ensure_deployment.
create function pgflow._deployment_differences(flow pgflow.flows, deployment jsonb)
returns text[]
language sql
stable
set search_path = ''
as $$
  with fixed (position, line) as (
    select -2, case when flow.alias <> coalesce(deployment ->> 'alias', flow.flow_slug) then
      format('alias: "%s" in the database, "%s" in the deployment',
             flow.alias, coalesce(deployment ->> 'alias', flow.flow_slug)) end
    union all
    select -1, case when flow.queue_mode <> coalesce(deployment ->> 'queueMode', 'flow') then
      format('queueMode: %s in the database, %s in the deployment',
             flow.queue_mode, coalesce(deployment ->> 'queueMode', 'flow')) end
    union all
    select s.step_index, p.line
    from pgflow.steps s
    join pgflow._deployment_steps(deployment) as d on d.step_slug = s.step_slug
    cross join lateral (values
      (pgflow._difference('route', s.step_slug, d.step_slug, s.queue_name, d.queue_name)),
      (pgflow._difference('contract', s.step_slug, d.step_slug, s.contract, d.contract))
    ) as p (line)
    where s.flow_slug = flow.flow_slug
  )
  select pgflow._compare_flow_shapes(deployment, pgflow._get_flow_shape(flow.flow_slug))
    || coalesce((select array_agg(f.line order by f.position) from fixed f where f.line is not null), '{}')
$$;
$pgflow_file$;
  -- core/25_deployments/_deployment_steps.sql
  execute $pgflow_file$-- core/25_deployments/_deployment_steps.sql
-- The steps of a deployment (or of a bare shape) as rows, defaults filled in and
-- routes resolved. Dependencies are sorted: they are a set. The deployment has
-- passed _check_deployment. queue_name is null for a shape without flowSlug.
-- Locks: none.
-- Callers: everything that compiles, compares or applies a deployment.
create function pgflow._deployment_steps(deployment jsonb)
returns table (
  step_index int,
  step_slug text,
  step_type text,
  dependencies text[],
  queue_name text,
  max_attempts int,
  base_delay int,
  timeout int,
  start_delay int,
  required_input_pattern jsonb,
  forbidden_input_pattern jsonb,
  when_unmet text,
  when_exhausted text,
  wants_flow_input boolean,
  contract text
)
language sql
immutable
set search_path = ''
as $$
  select
    (s.position - 1)::int,
    s.step ->> 'slug',
    coalesce(s.step ->> 'stepType', 'single'),
    coalesce((
      select array_agg(d.slug order by d.slug collate "C")
      from jsonb_array_elements_text(coalesce(nullif(s.step -> 'dependencies', 'null'), '[]')) as d (slug)), '{}'),
    lower(case deployment ->> 'queueMode'
      when 'step' then (deployment ->> 'flowSlug') || '__' || (s.step ->> 'slug')
      when 'routed' then deployment -> 'routes' ->> (s.step ->> 'slug')
      else deployment ->> 'flowSlug'
    end),
    (s.step -> 'options' ->> 'maxAttempts')::numeric::int,
    (s.step -> 'options' ->> 'baseDelay')::numeric::int,
    (s.step -> 'options' ->> 'timeout')::numeric::int,
    (s.step -> 'options' ->> 'startDelay')::numeric::int,
    case when (s.step -> 'requiredInputPattern' ->> 'defined')::boolean
      then s.step -> 'requiredInputPattern' -> 'value' end,
    case when (s.step -> 'forbiddenInputPattern' ->> 'defined')::boolean
      then s.step -> 'forbiddenInputPattern' -> 'value' end,
    coalesce(s.step ->> 'whenUnmet', 'skip'),
    coalesce(s.step ->> 'whenExhausted', 'fail'),
    coalesce((s.step ->> 'wantsFlowInput')::boolean, false),
    s.step ->> 'contract'
  from jsonb_array_elements(deployment -> 'steps') with ordinality as s (step, position)
  order by s.position
$$;
$pgflow_file$;
  -- core/25_deployments/_difference.sql
  execute $pgflow_file$-- core/25_deployments/_difference.sql
-- One line that says how a part of a step differs, or null when it does not, or
-- when the two are not the same step. Long values are cut.
-- Callers: _compare_flow_shapes, _deployment_differences, _option_drift.
create function pgflow._difference(
  part text,
  stored_step text,
  given_step text,
  stored text,
  given text
)
returns text
language sql
immutable
set search_path = ''
as $$
  select case when stored_step = given_step and stored is distinct from given then
    format('%s of step "%s": %s in the database, %s in the deployment',
           part, stored_step, coalesce(left(stored, 200), 'none'), coalesce(left(given, 200), 'none'))
  end
$$;
$pgflow_file$;
  -- core/25_deployments/_drain_blockers.sql
  execute $pgflow_file$-- core/25_deployments/_drain_blockers.sql
-- Why a flow may not be retired yet, as readable lines; none when it is drained: no
-- started run (also one whose next step has no task yet), no queued or started task
-- on any queue, and no alias but its own points at it.
-- Callers: drain_status, retire_flow (under the lock of the flow row, so that no
-- start can pass it).
create function pgflow._drain_blockers(flow_slug text)
returns text[]
language sql
stable
set search_path = ''
as $$
  with lines (position, line) as (
    select 1, pgflow._counted(count(*), 'started run')
    from pgflow.runs r
    where r.flow_slug = _drain_blockers.flow_slug and r.status = 'started'
    having count(*) > 0
    union all
    select 2, format('%s on queue "%s"', pgflow._counted(l.tasks, l.status || ' task'), l.queue_name)
    from pgflow._live_tasks(flow_slug) as l
    union all
    select 3, format('alias "%s" points at it', a.alias)
    from pgflow.flow_aliases a
    where a.active_flow_slug = _drain_blockers.flow_slug and a.alias <> _drain_blockers.flow_slug
  )
  select coalesce(array_agg(l.line order by l.position, l.line), '{}') from lines l
$$;
$pgflow_file$;
  -- core/25_deployments/_get_flow_shape.sql
  execute $pgflow_file$-- core/25_deployments/_get_flow_shape.sql
-- The stored structure of a flow: {"steps": [{slug, stepType, dependencies,
-- whenUnmet, whenExhausted, requiredInputPattern, forbiddenInputPattern}]}, steps
-- in order, dependencies sorted. No options: they are not structure. A flow that
-- does not exist has no steps.
-- Callers: ensure_flow_compiled, ensure_deployment, existing clients.
create function pgflow._get_flow_shape(flow_slug text)
returns jsonb
language sql
stable
set search_path = ''
as $$
  select jsonb_build_object('steps', coalesce(jsonb_agg(
    jsonb_build_object(
      'slug', s.step_slug,
      'stepType', s.step_type,
      'dependencies', coalesce((
        select jsonb_agg(d.dep_slug order by d.dep_slug collate "C")
        from pgflow.deps d
        where d.flow_slug = s.flow_slug and d.step_slug = s.step_slug), '[]'),
      'whenUnmet', s.when_unmet,
      'whenExhausted', s.when_exhausted,
      'requiredInputPattern', case when s.required_input_pattern is null
        then jsonb_build_object('defined', false)
        else jsonb_build_object('defined', true, 'value', s.required_input_pattern) end,
      'forbiddenInputPattern', case when s.forbidden_input_pattern is null
        then jsonb_build_object('defined', false)
        else jsonb_build_object('defined', true, 'value', s.forbidden_input_pattern) end)
    order by s.step_index), '[]'))
  from pgflow.steps s
  where s.flow_slug = _get_flow_shape.flow_slug
$$;
$pgflow_file$;
  -- core/25_deployments/_graph_problems.sql
  execute $pgflow_file$-- core/25_deployments/_graph_problems.sql
-- Dependencies and input flags of a deployment that do not fit together. Every
-- dependency names an earlier step, so there are no cycles.
-- Callers: _check_deployment, after _structure_problems.
create function pgflow._graph_problems(deployment jsonb)
returns setof text
language sql
immutable
set search_path = ''
as $$
  with steps as (
    select * from pgflow._deployment_steps(deployment)
  ),
  edges as (
    select s.step_slug, s.step_index, d.slug as dep_slug, count(*) as times
    from steps s cross join unnest(s.dependencies) as d (slug)
    group by s.step_slug, s.step_index, d.slug
  )
  select format('step "%s" depends on "%s", which is not an earlier step', e.step_slug, e.dep_slug)
  from edges e
  where not exists (select from steps s where s.step_slug = e.dep_slug and s.step_index < e.step_index)
  union all
  select format('step "%s" names dependency "%s" %s times', e.step_slug, e.dep_slug, e.times)
  from edges e where e.times > 1
  union all
  select format('map step "%s" has %s dependencies: it maps the array of at most one', s.step_slug,
                cardinality(s.dependencies))
  from steps s where s.step_type = 'map' and cardinality(s.dependencies) > 1
  union all
  select format('root map step "%s" wants the flow input, which its elements already are', s.step_slug)
  from steps s where s.step_type = 'map' and s.wants_flow_input and s.dependencies = '{}'
$$;
$pgflow_file$;
  -- core/25_deployments/_insert_deployment.sql
  execute $pgflow_file$-- core/25_deployments/_insert_deployment.sql
-- Writes a new concrete flow from a checked deployment: flow, queues of its
-- routes, steps, dependencies; a statement each. The caller holds the locks of
-- alias and slug and knows that the slug is free.
-- Errors: as _insert_flow and _provision_queues.
-- Callers: _compile, _create_flow_from_shape.
create function pgflow._insert_deployment(deployment jsonb, adopt text[] default '{}')
returns pgflow.flows
language plpgsql
set search_path = ''
as $$
declare
  flow pgflow.flows;
begin
  flow := pgflow._insert_flow(
    deployment ->> 'flowSlug',
    coalesce(deployment ->> 'alias', deployment ->> 'flowSlug'),
    coalesce(deployment ->> 'queueMode', 'flow'),
    (deployment -> 'options' ->> 'maxAttempts')::numeric::int,
    (deployment -> 'options' ->> 'baseDelay')::numeric::int,
    (deployment -> 'options' ->> 'timeout')::numeric::int);

  perform pgflow._provision_queues(
    case flow.queue_mode
      when 'flow' then array[flow.flow_slug]
      else array(select s.queue_name from pgflow._deployment_steps(deployment) as s)
    end,
    case flow.queue_mode when 'routed' then 'shared' else flow.queue_mode end,
    flow.flow_slug,
    adopt);

  insert into pgflow.steps (
    flow_slug, step_slug, step_type, step_index, deps_count, queue_name, opt_max_attempts, opt_base_delay,
    opt_timeout, opt_start_delay, required_input_pattern, forbidden_input_pattern, when_unmet, when_exhausted,
    wants_flow_input, contract)
  select flow.flow_slug, s.step_slug, s.step_type, s.step_index, cardinality(s.dependencies), s.queue_name,
         s.max_attempts, s.base_delay, s.timeout, s.start_delay, s.required_input_pattern,
         s.forbidden_input_pattern, s.when_unmet, s.when_exhausted, s.wants_flow_input, s.contract
  from pgflow._deployment_steps(deployment) as s;

  insert into pgflow.deps (flow_slug, dep_slug, step_slug)
  select flow.flow_slug, d.slug, s.step_slug
  from pgflow._deployment_steps(deployment) as s
  cross join unnest(s.dependencies) as d (slug);

  return flow;
end
$$;
$pgflow_file$;
  -- core/25_deployments/_is_superseded.sql
  execute $pgflow_file$-- core/25_deployments/_is_superseded.sql
-- Whether a version may no longer become active by an offer: it was active before,
-- or it was compiled before the active version, or before an operator's last
-- switch. Switches of a deleted namesake are older than its creation.
-- Callers: offer_activation, under the alias lock.
create function pgflow._is_superseded(flow pgflow.flows, active_flow_slug text)
returns boolean
language sql
stable
set search_path = ''
as $$
  select exists (
      select from pgflow.alias_switches s
      where s.alias = flow.alias
        and s.at >= flow.created_at
        and (s.to_flow_slug = flow.flow_slug or s.worker_id is null))
    or exists (
      select from pgflow.flows f
      where f.flow_slug = active_flow_slug and f.created_at > flow.created_at)
$$;
$pgflow_file$;
  -- core/25_deployments/_leave_alias.sql
  execute $pgflow_file$-- core/25_deployments/_leave_alias.sql
-- Moves an alias off the flow that is about to be deleted: back to the previous
-- version if that exists and is in service, else the alias goes. Nothing when
-- another version is active.
-- The caller holds the alias lock.
-- Callers: delete_flow_and_data, _compile.
create function pgflow._leave_alias(flow pgflow.flows)
returns void
language plpgsql
set search_path = ''
as $$
declare
  active pgflow.flow_aliases;
  successor text;
begin
  select a.* into active
  from pgflow.flow_aliases a
  where a.alias = flow.alias and a.active_flow_slug = flow.flow_slug;
  if not found then
    return;
  end if;

  select f.flow_slug into successor
  from pgflow.flows f
  where f.flow_slug = active.previous_flow_slug
    and f.alias = flow.alias
    and f.flow_slug <> flow.flow_slug
    and f.retired_at is null;
  perform pgflow._switch_alias(flow.alias, successor);
end
$$;
$pgflow_file$;
  -- core/25_deployments/_lock_target.sql
  execute $pgflow_file$-- core/25_deployments/_lock_target.sql
-- Locks the target of a switch: alias, slug, then the row for share, so that a
-- retirement waits; the tests come after that.
-- Errors: 42704 unknown flow.
-- Callers: activate_flow, offer_activation.
create function pgflow._lock_target(flow_slug text)
returns pgflow.flows
language plpgsql
set search_path = ''
as $$
declare
  flow pgflow.flows := pgflow._require_flow(flow_slug);
begin
  select f.* into flow from pgflow.flows f where f.flow_slug = _lock_target.flow_slug for share;
  return flow;
end
$$;
$pgflow_file$;
  -- core/25_deployments/_name_problems.sql
  execute $pgflow_file$-- core/25_deployments/_name_problems.sql
-- Names and words of a deployment that are not valid. by_host: the stricter rules
-- for deployments made by a host: no leading or trailing _, no __ (private queues
-- are named flow__step), step slugs unique ignoring case, 1 to 1000 steps.
-- Callers: _check_deployment, after _structure_problems.
create function pgflow._name_problems(deployment jsonb, by_host boolean)
returns setof text
language sql
immutable
set search_path = ''
as $$
  with names (what, name) as (
    select 'flowSlug', deployment ->> 'flowSlug'
    union all
    select 'alias', deployment ->> 'alias' where deployment ->> 'alias' is not null
    union all
    select 'step slug', s.step_slug from pgflow._deployment_steps(deployment) as s
  ),
  words (thing, given, allowed) as (
    select 'queueMode', coalesce(deployment ->> 'queueMode', 'flow'), '{flow,step,routed}'::text[]
    union all
    select format('%s of step "%s"', w.what, s.step_slug), w.given, w.allowed
    from pgflow._deployment_steps(deployment) as s
    cross join lateral (values
      ('stepType', s.step_type, '{single,map}'::text[]),
      ('whenUnmet', s.when_unmet, '{fail,skip,skip-cascade}'),
      ('whenExhausted', s.when_exhausted, '{fail,skip,skip-cascade}')) as w (what, given, allowed)
  )
  select format('%s "%s" is not valid: use 1 to 128 letters, digits and _, not starting with a digit; '
                '"run" is reserved', n.what, n.name)
  from names n where not pgflow.is_valid_slug(n.name)
  union all
  select format('%s "%s" is not valid: no _ at its start or end and no __, because private queues are named flow__step',
                n.what, n.name)
  from names n where by_host and pgflow.is_valid_slug(n.name) and n.name ~ '^_|_$|__'
  union all
  select format('%s is "%s": it must be %s', w.thing, w.given, array_to_string(w.allowed, ', '))
  from words w where w.given <> all (w.allowed)
  union all
  select format('step slug "%s" is used %s times%s', min(s.step_slug), count(*),
                case when by_host then ' (ignoring case)' else '' end)
  from pgflow._deployment_steps(deployment) as s
  group by case when by_host or deployment ->> 'queueMode' = 'step' then lower(s.step_slug) else s.step_slug end
  having count(*) > 1
  union all
  select format('the flow has %s steps: a deployment has 1 to 1000', jsonb_array_length(deployment -> 'steps'))
  where by_host and jsonb_array_length(deployment -> 'steps') not between 1 and 1000
$$;
$pgflow_file$;
  -- core/25_deployments/_offer_gaps.sql
  execute $pgflow_file$-- core/25_deployments/_offer_gaps.sql
-- The switch test for an offer: that of every switch, and the offering worker is
-- itself live and working. A host that was deprecated or stood by in the meantime
-- learns it at its heartbeat.
-- Callers: offer_activation.
create function pgflow._offer_gaps(flow_slug text, worker_id uuid)
returns table (queue_name text, reason text)
language sql
stable
set search_path = ''
as $$
  select g.queue_name, g.reason from pgflow._switch_gaps(flow_slug) as g
  union all
  select coalesce((select w.queue_name from pgflow.workers w where w.worker_id = _offer_gaps.worker_id), '(none)'),
         format('worker %s, which offers, is not live and working', coalesce(_offer_gaps.worker_id::text, '(null)'))
  where not exists (
    select from pgflow.workers w
    where w.worker_id = _offer_gaps.worker_id and pgflow._is_live(w) and not w.standby)
$$;
$pgflow_file$;
  -- core/25_deployments/_option_drift.sql
  execute $pgflow_file$-- core/25_deployments/_option_drift.sql
-- How the options of a deployment differ from the stored ones, as readable lines.
-- They may differ: the stored ones hold until apply_flow_options. A missing flow
-- option means its default; a missing wantsFlowInput (shapes of existing clients
-- have none) means the stored one.
-- Callers: ensure_deployment, flow_option_drift.
create function pgflow._option_drift(flow pgflow.flows, deployment jsonb)
returns text[]
language sql
stable
set search_path = ''
as $$
  with given as (
    select d.*, deployment -> 'steps' -> d.step_index ? 'wantsFlowInput' as says_flow_input
    from pgflow._deployment_steps(deployment) as d
  ),
  options (position, line) as (
    select -1, format('%s of the flow: %s in the database, %s in the deployment', o.name, o.stored, o.given)
    from (values
      ('maxAttempts', flow.opt_max_attempts, coalesce((deployment -> 'options' ->> 'maxAttempts')::numeric::int, 3)),
      ('baseDelay', flow.opt_base_delay, coalesce((deployment -> 'options' ->> 'baseDelay')::numeric::int, 5)),
      ('timeout', flow.opt_timeout, coalesce((deployment -> 'options' ->> 'timeout')::numeric::int, 60))
    ) as o (name, stored, given)
    where o.stored <> o.given
    union all
    select s.step_index, o.line
    from pgflow.steps s
    join given g on g.step_slug = s.step_slug
    cross join lateral (values
      (pgflow._difference('maxAttempts', s.step_slug, g.step_slug, s.opt_max_attempts::text, g.max_attempts::text)),
      (pgflow._difference('baseDelay', s.step_slug, g.step_slug, s.opt_base_delay::text, g.base_delay::text)),
      (pgflow._difference('timeout', s.step_slug, g.step_slug, s.opt_timeout::text, g.timeout::text)),
      (pgflow._difference('startDelay', s.step_slug, g.step_slug, s.opt_start_delay::text, g.start_delay::text)),
      (pgflow._difference('wantsFlowInput', s.step_slug, g.step_slug, s.wants_flow_input::text,
         case when g.says_flow_input then g.wants_flow_input else s.wants_flow_input end::text))
    ) as o (line)
    where s.flow_slug = flow.flow_slug and o.line is not null
  )
  select coalesce(array_agg(o.line order by o.position), '{}') from options o
$$;
$pgflow_file$;
  -- core/25_deployments/_option_problems.sql
  execute $pgflow_file$-- core/25_deployments/_option_problems.sql
-- Options of a deployment's flow and steps that are no whole number in range.
-- Callers: _check_deployment, after _structure_problems.
create function pgflow._option_problems(deployment jsonb)
returns setof text
language sql
immutable
set search_path = ''
as $$
  with options (thing, name, given, lowest, highest) as (
    select t.thing, o.name, t.options -> o.name, o.lowest, o.highest
    from (
      select 'the flow' as thing, deployment -> 'options' as options, false as is_step
      union all
      select format('step "%s"', s.step ->> 'slug'), s.step -> 'options', true
      from jsonb_array_elements(deployment -> 'steps') as s (step)
    ) as t
    join (values
      ('maxAttempts', 0, 1000, false), ('baseDelay', 0, 86400, false), ('timeout', 1, 604800, false),
      ('startDelay', 0, 31536000, true)) as o (name, lowest, highest, step_only)
      on t.is_step or not o.step_only
  )
  select format('%s of %s is %s: it must be a whole number from %s to %s',
                o.name, o.thing, o.given, o.lowest, o.highest)
  from options o
  where jsonb_typeof(o.given) <> 'null'
    and case jsonb_typeof(o.given)
          when 'number' then (o.given #>> '{}')::numeric % 1 <> 0
                             or (o.given #>> '{}')::numeric not between o.lowest and o.highest
          else true
        end
$$;
$pgflow_file$;
  -- core/25_deployments/_plain_deployment.sql
  execute $pgflow_file$-- core/25_deployments/_plain_deployment.sql
-- A bare shape as a deployment: that of a plain flow, or, when the flow exists,
-- one that keeps its alias, queue mode and routes; new steps of a routed flow go
-- to the queue named like the flow.
-- Callers: ensure_flow_compiled, flow_option_drift, apply_flow_options,
--          _create_flow_from_shape.
create function pgflow._plain_deployment(flow_slug text, shape jsonb)
returns jsonb
language sql
stable
set search_path = ''
as $$
  select jsonb_build_object(
      'options', shape -> 'options',
      'steps', shape -> 'steps',
      'flowSlug', _plain_deployment.flow_slug,
      'alias', coalesce(f.alias, _plain_deployment.flow_slug),
      'queueMode', coalesce(f.queue_mode, 'flow'))
    || case when f.queue_mode = 'routed' then jsonb_build_object('routes', (
         select jsonb_object_agg(g.step ->> 'slug', coalesce(s.queue_name, lower(f.flow_slug)))
         from jsonb_array_elements(
           case jsonb_typeof(shape -> 'steps') when 'array' then shape -> 'steps' else '[]' end) as g (step)
         left join pgflow.steps s on s.flow_slug = f.flow_slug and s.step_slug = g.step ->> 'slug'
         where g.step ->> 'slug' is not null))
       else '{}' end
  from (values (1)) as one (row)
  left join pgflow.flows f on f.flow_slug = _plain_deployment.flow_slug
$$;
$pgflow_file$;
  -- core/25_deployments/_route_problems.sql
  execute $pgflow_file$-- core/25_deployments/_route_problems.sql
-- Routes of a deployment that do not fit its queue mode, and queue names that
-- PGMQ could not take. In the modes flow and step routes may be spelled out, as
-- long as they say what the mode says.
-- Callers: _check_deployment, after _structure_problems.
create function pgflow._route_problems(deployment jsonb)
returns setof text
language sql
immutable
set search_path = ''
as $$
  with mode (name) as (
    select coalesce(deployment ->> 'queueMode', 'flow')
  ),
  steps as (
    select s.step_slug, s.queue_name from pgflow._deployment_steps(deployment) as s
  ),
  routes as (
    select r.key as step_slug, lower(r.value) as queue_name
    from jsonb_each_text(coalesce(nullif(deployment -> 'routes', 'null'), '{}')) as r
  )
  select format('step "%s" has no route: in queue mode routed every step names a queue', s.step_slug)
  from steps s where s.queue_name is null
  union all
  select format('the routes name step "%s", which the flow does not have', r.step_slug)
  from routes r where r.step_slug not in (select s.step_slug from steps s)
  union all
  select format('step "%s" is routed to queue "%s", but queue mode %s puts it on "%s"', s.step_slug, r.queue_name,
                m.name, s.queue_name)
  from mode m, routes r join steps s using (step_slug)
  where r.queue_name <> s.queue_name
  union all
  select format('queue name "%s" of step "%s" has %s bytes: the limit is 47', s.queue_name, min(s.step_slug),
                octet_length(s.queue_name))
  from steps s where octet_length(s.queue_name) > 47 group by s.queue_name
  union all
  select format('queue name "%s" of step "%s" is not valid: use letters, digits, _ and single hyphens between them',
                s.queue_name, min(s.step_slug))
  from steps s, mode m
  where m.name = 'routed' and s.queue_name !~ '^[a-z0-9_]+(-[a-z0-9_]+)*$'
  group by s.queue_name
$$;
$pgflow_file$;
  -- core/25_deployments/_structure_problems.sql
  execute $pgflow_file$-- core/25_deployments/_structure_problems.sql
-- What is wrong with the JSON of a deployment as JSON: missing fields and fields
-- of another type, by path. Nothing else looks at a deployment before this is empty.
-- Callers: _check_deployment.
create function pgflow._structure_problems(deployment jsonb)
returns setof text
language sql
immutable
set search_path = ''
as $$
  with steps as (
    select s.step, format('steps[%s]', s.position - 1) as path
    from jsonb_array_elements(
      case jsonb_typeof(deployment -> 'steps') when 'array' then deployment -> 'steps' else '[]' end)
      with ordinality as s (step, position)
  ),
  patterns as (
    select format('%s.%s', s.path, k.name) as path, s.step -> k.name as pattern
    from steps s cross join (values ('requiredInputPattern'), ('forbiddenInputPattern')) as k (name)
    where jsonb_typeof(s.step -> k.name) = 'object'
  ),
  fields (path, field, allowed) as (
    select k.name, deployment -> k.name, k.allowed
    from (values
      ('flowSlug', '{string}'::text[]), ('alias', '{string,"null"}'), ('queueMode', '{string,"null"}'),
      ('routes', '{object,"null"}'), ('options', '{object,"null"}'), ('steps', '{array}')) as k (name, allowed)
    union all
    select s.path, s.step, '{object}' from steps s
    union all
    select format('%s.%s', s.path, k.name), s.step -> k.name, k.allowed
    from steps s
    cross join (values
      ('slug', '{string}'::text[]), ('stepType', '{string,"null"}'), ('dependencies', '{array,"null"}'),
      ('whenUnmet', '{string,"null"}'), ('whenExhausted', '{string,"null"}'),
      ('requiredInputPattern', '{object,"null"}'), ('forbiddenInputPattern', '{object,"null"}'),
      ('options', '{object,"null"}'), ('contract', '{string,"null"}'),
      ('wantsFlowInput', '{boolean,"null"}')) as k (name, allowed)
    where jsonb_typeof(s.step) = 'object'
    union all
    select format('%s.dependencies[%s]', s.path, d.position - 1), d.slug, '{string}'
    from steps s
    cross join jsonb_array_elements(
      case jsonb_typeof(s.step -> 'dependencies') when 'array' then s.step -> 'dependencies' else '[]' end)
      with ordinality as d (slug, position)
    union all
    select format('%s.defined', p.path), p.pattern -> 'defined', '{boolean}' from patterns p
    union all
    select format('%s.value', p.path), p.pattern -> 'value', '{object}'
    from patterns p where p.pattern -> 'defined' = 'true'
    union all
    select format('routes.%s', r.key), r.value, '{string}'
    from jsonb_each(
      case jsonb_typeof(deployment -> 'routes') when 'object' then deployment -> 'routes' else '{}' end) as r
  )
  select format('%s must be %s, not %s', f.path, array_to_string(f.allowed, ' or '),
                coalesce(jsonb_typeof(f.field), 'absent'))
  from fields f
  where coalesce(jsonb_typeof(f.field), 'null') <> all (f.allowed)
$$;
$pgflow_file$;
  -- core/25_deployments/_switch_gaps.sql
  execute $pgflow_file$-- core/25_deployments/_switch_gaps.sql
-- What keeps an alias from switching to a flow: queues of its steps without a live
-- working worker, and live working workers there that lack one of the flow's pairs
-- (a held pair is a missing one; a worker that registered no pairs covers nothing,
-- but takes messages; one whose function is disabled for it claims nothing).
-- No rows: the test passes. The one test of both doors.
-- Locks: none; workers come and go.
-- Callers: activate_flow, offer_activation.
create function pgflow._switch_gaps(flow_slug text)
returns table (queue_name text, reason text)
language sql
stable
set search_path = ''
as $$
  with target as (
    select distinct s.queue_name from pgflow.steps s where s.flow_slug = _switch_gaps.flow_slug
  ),
  working as (
    select t.queue_name, w.worker_id, w.function_name
    from target t
    join pgflow.workers w on lower(w.queue_name) = t.queue_name and w.stopped_at is null
    where pgflow._is_live(w) and not w.standby and not pgflow._must_stop(w.worker_id, w.function_name)
  ),
  lacking as (
    select w.queue_name, w.worker_id, w.function_name,
           string_agg(format('"%s"', s.step_slug), ', ' order by s.step_index) as steps,
           count(*) > 1 as is_several,
           not exists (select from pgflow.worker_task_pairs p where p.worker_id = w.worker_id) as has_no_pairs
    from working w
    join pgflow.steps s on s.flow_slug = _switch_gaps.flow_slug and s.queue_name = w.queue_name
    where not exists (
      select from pgflow.worker_task_pairs p
      where p.worker_id = w.worker_id and p.flow_slug = s.flow_slug and p.step_slug = s.step_slug and not p.held)
    group by w.queue_name, w.worker_id, w.function_name
  )
  select t.queue_name, format('queue "%s" has no live worker', t.queue_name)
  from target t
  where t.queue_name not in (select w.queue_name from working w)
  union all
  select l.queue_name,
         format(case when l.has_no_pairs
                  then 'queue "%s": worker %s of function "%s" registered no pairs, so nothing shows that '
                       'it runs %s %s'
                  else 'queue "%s": worker %s of function "%s" does not run %s %s' end,
                l.queue_name, l.worker_id, l.function_name, case when l.is_several then 'steps' else 'step' end, l.steps)
  from lacking l
  order by 1, 2
$$;
$pgflow_file$;
  -- core/25_deployments/activate_flow.sql
  execute $pgflow_file$-- core/25_deployments/activate_flow.sql
-- The operator's door of a switch: new starts of the alias go to this version from
-- now on; runs that started stay on theirs. Back to an older version is the same
-- call. Returns the alias row; the version that is active already changes nothing.
-- force: switch although the coverage test fails; tasks then wait for workers.
-- Locks: alias, slug, the flow row for share (against retirement).
-- Errors: 42704 unknown; 22023 not a version of the alias; 55000 retired, or not
--         covered: each queue and worker is named.
create function pgflow.activate_flow(alias text, flow_slug text, force boolean default false)
returns pgflow.flow_aliases
language plpgsql
set search_path = ''
as $$
declare
  flow pgflow.flows := pgflow._lock_target(flow_slug);
  active pgflow.flow_aliases;
  gaps text[];
begin
  if flow.alias is distinct from activate_flow.alias then
    raise exception 'flow "%" is a version of alias "%", not of "%"', flow_slug, flow.alias, alias
      using errcode = 'invalid_parameter_value', hint = 'An alias activates only its own versions.';
  end if;
  if flow.retired_at is not null then
    raise exception 'flow "%" is retired since %', flow_slug, flow.retired_at
      using errcode = 'object_not_in_prerequisite_state',
            hint = format('select pgflow.unretire_flow(%L) takes it back into service.', flow_slug);
  end if;

  select a.* into active from pgflow.flow_aliases a where a.alias = activate_flow.alias;
  if active.active_flow_slug = flow_slug then
    return active;
  end if;

  gaps := array(select g.reason from pgflow._switch_gaps(flow_slug) as g);
  if not coalesce(force, false) then
    perform pgflow._raise_problems(
      format('alias "%s" cannot switch to flow "%s"', alias, flow_slug), gaps, 'object_not_in_prerequisite_state',
      'Start or repair those workers, or force the switch: tasks then wait for workers.');
  end if;

  perform pgflow._switch_alias(flow.alias, flow_slug, forced => gaps <> '{}');
  select a.* into active from pgflow.flow_aliases a where a.alias = activate_flow.alias;
  return active;
end
$$;
$pgflow_file$;
  -- core/25_deployments/apply_flow_options.sql
  execute $pgflow_file$-- core/25_deployments/apply_flow_options.sql
-- Makes the options of a module the stored ones, for claims from then on; running
-- attempts keep what they were given. shape: the shape or the whole deployment, of
-- the same structure. Returns what changed, as readable lines.
-- Locks: alias, slug, the rows of flow and steps.
-- Errors: 42704 unknown flow; 22023 bad shape; 55000 another structure.
-- Callers: operators (pgflowctl options).
create function pgflow.apply_flow_options(flow_slug text, shape jsonb)
returns text[]
language plpgsql
set search_path = ''
as $$
declare
  flow pgflow.flows := pgflow._require_flow(flow_slug);
  drift text[] := pgflow.flow_option_drift(flow.flow_slug, shape);
  deployment jsonb := pgflow._plain_deployment(flow_slug, shape);
begin
  update pgflow.flows f
  set opt_max_attempts = coalesce((deployment -> 'options' ->> 'maxAttempts')::numeric::int, 3),
      opt_base_delay = coalesce((deployment -> 'options' ->> 'baseDelay')::numeric::int, 5),
      opt_timeout = coalesce((deployment -> 'options' ->> 'timeout')::numeric::int, 60)
  where f.flow_slug = apply_flow_options.flow_slug;

  update pgflow.steps s
  set opt_max_attempts = d.max_attempts,
      opt_base_delay = d.base_delay,
      opt_timeout = d.timeout,
      opt_start_delay = d.start_delay,
      wants_flow_input = case when deployment -> 'steps' -> d.step_index ? 'wantsFlowInput'
                           then d.wants_flow_input else s.wants_flow_input end
  from pgflow._deployment_steps(deployment) as d
  where s.flow_slug = apply_flow_options.flow_slug and s.step_slug = d.step_slug;
  return drift;
end
$$;
$pgflow_file$;
  -- core/25_deployments/delete_flow_and_data.sql
  execute $pgflow_file$-- core/25_deployments/delete_flow_and_data.sql
-- Deletes a concrete flow and everything of it, on all its queues; there is no way
-- back. Neighbours on shared queues are untouched. An alias pointing at it goes
-- back to the previous version if that exists and is not retired, else it goes.
-- The record of switches stays.
-- Locks: alias, slug, then as _delete_flow. Errors: 42704 unknown flow.
-- Callers: operators (pgflowctl delete), existing clients.
create function pgflow.delete_flow_and_data(flow_slug text)
returns void
language plpgsql
set search_path = ''
as $$
declare
  flow pgflow.flows := pgflow._require_flow(flow_slug);
begin
  perform from pgflow.flows f where f.flow_slug = flow.flow_slug for update;
  perform pgflow._leave_alias(flow);
  perform pgflow._delete_flow(flow);
end
$$;
$pgflow_file$;
  -- core/25_deployments/delete_unused_flow.sql
  execute $pgflow_file$-- core/25_deployments/delete_unused_flow.sql
-- delete_flow_and_data for a flow that nothing needs any more (deletion_blockers), and
-- for no other: the test is made under the lock of the flow row, so that no start
-- passes it.
-- Locks: as delete_flow_and_data.
-- Errors: 42704 unknown flow; 55000 with the reasons.
-- Callers: operators (pgflowctl delete).
create function pgflow.delete_unused_flow(flow_slug text)
returns void
language plpgsql
set search_path = ''
as $$
declare
  flow pgflow.flows := pgflow._require_flow(flow_slug);
begin
  perform from pgflow.flows f where f.flow_slug = flow.flow_slug for update;
  perform pgflow._raise_problems(
    format('flow "%s" is in use', flow.flow_slug), pgflow.deletion_blockers(flow.flow_slug),
    'object_not_in_prerequisite_state',
    'Let its runs end or cancel them, activate another version of its alias, and stop the hosts that carry it; '
    'or delete it by force, with what still runs.');
  perform pgflow.delete_flow_and_data(flow.flow_slug);
end
$$;
$pgflow_file$;
  -- core/25_deployments/deletion_blockers.sql
  execute $pgflow_file$-- core/25_deployments/deletion_blockers.sql
-- Why a careful operator would not delete a flow yet, as readable lines; none: nothing
-- needs it. What keeps it from being retired, and workers that would lose it: live ones
-- that run its steps, carry its module (they would compile it anew at their next start)
-- or poll a queue that goes with it.
-- Locks: none. Errors: 42704 unknown flow.
-- Callers: operators (pgflowctl delete), delete_unused_flow under the lock of the flow row.
create function pgflow.deletion_blockers(flow_slug text)
returns text[]
language plpgsql
stable
set search_path = ''
as $$
begin
  if not exists (select from pgflow.flows f where f.flow_slug = deletion_blockers.flow_slug) then
    perform pgflow._raise_unknown_flow(flow_slug);
  end if;
  return pgflow._drain_blockers(flow_slug) || array(
    select format('worker %s of function "%s" on queue "%s" %s', w.worker_id, w.function_name, w.queue_name,
                  case when u.carries then 'carries it' else 'polls a queue of it' end)
    from pgflow.workers w
    cross join lateral (
      select exists (select from pgflow.worker_task_pairs p
                     where p.worker_id = w.worker_id and p.flow_slug = deletion_blockers.flow_slug)
               or w.info @> jsonb_build_object('modules', jsonb_build_array(
                    jsonb_build_object('flow', deletion_blockers.flow_slug))) as carries) as u
    where pgflow._is_live(w)
      and (u.carries or exists (select from pgflow.queues q
                                where q.owner_flow_slug = deletion_blockers.flow_slug
                                  and q.queue_name = lower(w.queue_name)))
    order by w.function_name, w.queue_name, w.worker_id);
end
$$;
$pgflow_file$;
  -- core/25_deployments/ensure_deployment.sql
  execute $pgflow_file$-- core/25_deployments/ensure_deployment.sql
-- Compiles or verifies one concrete version, and activates it if its alias has no
-- active version yet; its tasks then wait durably for workers. What a host calls
-- for each of its modules; hosts that start at once converge.
--
-- deployment   the shape, plus flowSlug, alias (default: the slug), queueMode, routes
--              {step: queue}, and per step contract and wantsFlowInput
-- adopt        existing PGMQ queues that may be taken over as shared
-- Returns {compilation: compiled | verified | recompiled | mismatch, activation:
-- activated | active | inactive, alias, activeFlowSlug, queueMode, differences:
-- [text], optionDrift: [text]}. Shape, alias, routes and contracts never change: a
-- mismatch changes nothing (is_local(): deleted and compiled anew) and carries hint.
-- Locks: alias, then slug; queues by name. Errors: 22023 not valid; 42710 name
-- taken; 55000 queue; 40001 repeat.
create function pgflow.ensure_deployment(deployment jsonb, adopt text[] default '{}')
returns jsonb
language plpgsql
set search_path = ''
as $$
declare
  flow pgflow.flows;
  compilation text;
  activation text;
  differences text[] := '{}'::text[];
begin
  perform pgflow._check_deployment(deployment, true);
  flow := pgflow._lock_flow(
    deployment ->> 'flowSlug', coalesce(deployment ->> 'alias', deployment ->> 'flowSlug'));
  if flow.flow_slug is not null then
    differences := pgflow._deployment_differences(flow, deployment);
  end if;

  compilation := pgflow._compile(flow, deployment, differences, pgflow.is_local(), adopt);
  select f.* into flow from pgflow.flows f where f.flow_slug = deployment ->> 'flowSlug';
  activation := pgflow._activate_first(flow, compilation <> 'mismatch');

  return jsonb_build_object(
      'compilation', compilation,
      'activation', activation,
      'alias', flow.alias,
      'activeFlowSlug', (select a.active_flow_slug from pgflow.flow_aliases a where a.alias = flow.alias),
      'queueMode', flow.queue_mode,
      'differences', to_jsonb(differences),
      'optionDrift', case compilation
        when 'verified' then to_jsonb(pgflow._option_drift(flow, deployment))
        else '[]' end)
    || case compilation when 'mismatch' then jsonb_build_object(
         'hint', 'A compiled version never changes: use a new concrete slug, or delete the flow in development.')
       else '{}' end;
end
$$;
$pgflow_file$;
  -- core/25_deployments/ensure_flow_compiled.sql
  execute $pgflow_file$-- core/25_deployments/ensure_flow_compiled.sql
-- Compiles a plain flow from its shape, or verifies the stored one. The form that
-- existing clients call. Returns {status: compiled | verified | recompiled |
-- mismatch, differences: [text]}. A mismatch changes nothing, unless is_local()
-- or allow_data_loss: then flow and data are deleted, the alias kept, and the
-- flow compiled anew.
-- Locks: alias, slug; a recompile also as delete_flow_and_data.
-- Errors: 22023 bad shape, 42710 name taken, 55000 queue.
create function pgflow.ensure_flow_compiled(
  flow_slug text,
  shape jsonb,
  allow_data_loss boolean default false
)
returns jsonb
language plpgsql
set search_path = ''
as $$
declare
  flow pgflow.flows := pgflow._lock_flow(flow_slug);
  deployment jsonb := pgflow._plain_deployment(flow_slug, shape);
  differences text[] := '{}'::text[];
  status text;
begin
  perform pgflow._check_deployment(deployment, false);
  if flow.flow_slug is not null then
    differences := pgflow._compare_flow_shapes(deployment, pgflow._get_flow_shape(flow_slug));
  end if;

  status := pgflow._compile(flow, deployment, differences, pgflow.is_local() or coalesce(allow_data_loss, false));
  if status in ('compiled', 'recompiled') then
    select f.* into flow from pgflow.flows f where f.flow_slug = ensure_flow_compiled.flow_slug;
    perform pgflow._activate_first(flow);
  end if;
  return jsonb_build_object('status', status, 'differences', to_jsonb(differences));
end
$$;
$pgflow_file$;
  -- core/25_deployments/flow_option_drift.sql
  execute $pgflow_file$-- core/25_deployments/flow_option_drift.sql
-- How the options of a module differ from the stored ones, as readable lines; none:
-- they are the same. shape: the shape or the whole deployment, of the same structure.
-- Locks: none.
-- Errors: 42704 unknown flow; 22023 bad shape; 55000 another structure.
-- Callers: operators (pgflowctl options), apply_flow_options.
create function pgflow.flow_option_drift(flow_slug text, shape jsonb)
returns text[]
language plpgsql
stable
set search_path = ''
as $$
declare
  flow pgflow.flows;
  deployment jsonb := pgflow._plain_deployment(flow_slug, shape);
  differences text[];
begin
  select f.* into flow from pgflow.flows f where f.flow_slug = flow_option_drift.flow_slug;
  if not found then
    perform pgflow._raise_unknown_flow(flow_slug);
  end if;
  perform pgflow._check_deployment(deployment, false);
  differences := pgflow._compare_flow_shapes(deployment, pgflow._get_flow_shape(flow_slug));
  perform pgflow._raise_problems(
    format('the options are not those of flow "%s"', flow_slug), differences, 'object_not_in_prerequisite_state',
    'Give the module that this flow was compiled from.');
  return pgflow._option_drift(flow, deployment);
end
$$;
$pgflow_file$;
  -- core/25_deployments/is_local.sql
  execute $pgflow_file$-- core/25_deployments/is_local.sql
-- Whether this database is a developer's: there a flow whose shape changed is
-- deleted with its data and compiled anew. Said by whoever owns the database:
--   alter database NAME set pgflow.is_local = on
-- or by the well-known JWT secret of a local Supabase stack. A setting of the
-- session or of a role does not count: a worker must not be able to claim it.
-- Callers: ensure_flow_compiled, ensure_deployment, existing clients.
create function pgflow.is_local()
returns boolean
language sql
stable
set search_path = ''
as $$
  select exists (
    select
    from pg_catalog.pg_db_role_setting s
    cross join unnest(s.setconfig) as c (setting)
    where s.setrole = 0
      and s.setdatabase = (select d.oid from pg_catalog.pg_database d where d.datname = current_database())
      and c.setting in (
        'pgflow.is_local=on', 'pgflow.is_local=true', 'pgflow.is_local=1',
        'app.settings.jwt_secret=super-secret-jwt-token-with-at-least-32-characters-long'))
$$;
$pgflow_file$;
  -- core/25_deployments/offer_activation.sql
  execute $pgflow_file$-- core/25_deployments/offer_activation.sql
-- The hosts' door of a switch: a host offers its last-given version of an alias,
-- after registering and at heartbeats while the answer is waiting. One row:
--
-- activation   activated: this call switched; active: it was; waiting: the coverage
--              test does not pass yet (queues, and reasons in parallel say why);
--              superseded: this version never takes new runs by itself again
-- active_flow_slug   after the call; null: the alias has no active version
--
-- Superseded when retired, when it was active before, or when it is older than the
-- active version or than the last switch that an operator made: so a restarted old
-- host takes nothing back. A namesake that was deleted does not count, and an alias
-- without active version takes whoever is covered, as ensure_deployment does.
-- Locks: alias, slug, the flow row for share. Errors: 42704 unknown flow.
create function pgflow.offer_activation(
  flow_slug text,
  worker_id uuid,
  out activation text,
  out active_flow_slug text,
  out queues text[],
  out reasons text[]
)
language plpgsql
set search_path = ''
as $$
declare
  flow pgflow.flows := pgflow._lock_target(flow_slug);
begin
  select a.active_flow_slug into active_flow_slug from pgflow.flow_aliases a where a.alias = flow.alias;

  if flow.retired_at is not null then
    activation := 'superseded';
  elsif active_flow_slug = flow_slug then
    activation := 'active';
  elsif active_flow_slug is not null and pgflow._is_superseded(flow, active_flow_slug) then
    activation := 'superseded';
  else
    select array_agg(g.queue_name), array_agg(g.reason) into queues, reasons
    from pgflow._offer_gaps(flow_slug, worker_id) as g;
    activation := case when queues is null then 'activated' else 'waiting' end;
  end if;

  if activation = 'activated' then
    perform pgflow._switch_alias(flow.alias, flow_slug, worker_id);
    active_flow_slug := flow_slug;
  end if;
  queues := coalesce(queues, '{}');
  reasons := coalesce(reasons, '{}');
end
$$;
$pgflow_file$;
  -- core/25_deployments/retire_flow.sql
  execute $pgflow_file$-- core/25_deployments/retire_flow.sql
-- Takes a drained version out of service: it keeps its history and takes no new
-- runs. Recomputes the drain verdict under the lock of the flow row, so a start
-- and a retirement never cross. A retired flow is returned as it is.
-- Locks: alias, slug, the flow row for update.
-- Errors: 42704 unknown flow; 55000 with the blockers.
create function pgflow.retire_flow(flow_slug text)
returns pgflow.flows
language plpgsql
set search_path = ''
as $$
declare
  flow pgflow.flows := pgflow._require_flow(flow_slug);
  blockers text[];
begin
  select f.* into flow from pgflow.flows f where f.flow_slug = retire_flow.flow_slug for update;
  if flow.retired_at is not null then
    return flow;
  end if;

  blockers := pgflow._drain_blockers(flow_slug);
  perform pgflow._raise_problems(
    format('flow "%s" is not drained', flow_slug), blockers, 'object_not_in_prerequisite_state',
    format('Keep its workers until pgflow.drain_status(%L) says safe_to_retire.', flow_slug));

  update pgflow.flows f set retired_at = greatest(clock_timestamp(), f.created_at)
  where f.flow_slug = retire_flow.flow_slug
  returning f.* into flow;
  return flow;
end
$$;
$pgflow_file$;
  -- core/25_deployments/unretire_flow.sql
  execute $pgflow_file$-- core/25_deployments/unretire_flow.sql
-- Undoes retire_flow; a flow that is not retired is returned as it is. It takes
-- runs again where it is named or still is its own alias; nothing is switched.
-- Locks: alias, slug, the flow row. Errors: 42704 unknown flow.
create function pgflow.unretire_flow(flow_slug text)
returns pgflow.flows
language plpgsql
set search_path = ''
as $$
declare
  flow pgflow.flows := pgflow._require_flow(flow_slug);
begin
  update pgflow.flows f set retired_at = null
  where f.flow_slug = unretire_flow.flow_slug
  returning f.* into flow;
  return flow;
end
$$;
$pgflow_file$;
  -- core/30_runs/00_table_runs.sql
  execute $pgflow_file$-- core/30_runs/00_table_runs.sql
-- One row per start of a flow. Written by start_flow* and by the engine only; whoever changes anything of a run (its
-- states, the number or the end of its tasks) holds this row `for no key update` first.
--
-- remaining_steps counts the steps that are neither completed nor skipped; the run completes when it reaches 0.
-- failed_at is the end of a failed and of a cancelled run.
create table pgflow.runs (
  run_id uuid primary key,
  flow_slug text not null references pgflow.flows (flow_slug),
  status text not null default 'started',
  input jsonb not null,
  output jsonb,
  remaining_steps int not null default 0,
  started_at timestamptz not null default clock_timestamp(),
  completed_at timestamptz,
  failed_at timestamptz,
  constraint runs_status_is_known check (status in ('started', 'completed', 'failed', 'cancelled')),
  constraint runs_remaining_steps_not_negative check (remaining_steps >= 0),
  constraint runs_completed_has_nothing_left check (status <> 'completed' or remaining_steps = 0),
  constraint runs_output_only_when_completed check (output is null or status = 'completed'),
  constraint runs_completed_at_exactly_when_completed check ((completed_at is not null) = (status = 'completed')),
  constraint runs_failed_at_exactly_when_ended_otherwise
    check ((failed_at is not null) = (status in ('failed', 'cancelled'))),
  constraint runs_end_not_before_start check (completed_at >= started_at and failed_at >= started_at)
) with (
  -- A run is updated once per finished step (HOT, unless it ends) and never read again after it ended.
  fillfactor = 70,
  autovacuum_vacuum_scale_factor = 0.02,
  autovacuum_analyze_scale_factor = 0.02
);

-- Draining, coverage and retirement ask for the started runs of a flow.
create index runs_started on pgflow.runs (flow_slug) where status = 'started';

-- Listing asks for the latest; pruning for the oldest (a run that ended before a date also started before it).
create index runs_by_start on pgflow.runs (started_at);
$pgflow_file$;
  -- core/30_runs/01_table_step_states.sql
  execute $pgflow_file$-- core/30_runs/01_table_step_states.sql
-- One row per step of a run. Written under the lock of the run's row only, which therefore protects it.
--
-- initial_tasks: 1 for a single step, the number of elements for a map, null until the step is started or completed.
-- remaining_tasks counts down to 0 as tasks complete, so that no batch has to count the tasks of a map.
-- remaining_deps counts the dependencies that are neither completed nor skipped.
create table pgflow.step_states (
  flow_slug text not null,
  run_id uuid not null references pgflow.runs (run_id),
  step_slug text not null,
  status text not null default 'created',
  remaining_tasks int,
  initial_tasks int,
  remaining_deps int not null default 0,
  output jsonb,
  error_message text,
  skip_reason text,
  created_at timestamptz not null default clock_timestamp(),
  started_at timestamptz,
  completed_at timestamptz,
  failed_at timestamptz,
  skipped_at timestamptz,
  primary key (run_id, step_slug),
  constraint step_states_status_is_known
    check (status in ('created', 'started', 'completed', 'failed', 'skipped')),
  constraint step_states_counts_not_negative
    check (remaining_tasks >= 0 and initial_tasks >= 0 and remaining_deps >= 0),
  constraint step_states_remaining_within_initial check (remaining_tasks <= initial_tasks),
  constraint step_states_created_has_no_tasks
    check (status <> 'created' or (remaining_tasks is null and started_at is null)),
  constraint step_states_started_is_whole
    check (status <> 'started' or (remaining_tasks is not null and started_at is not null and remaining_deps = 0)),
  constraint step_states_completed_has_nothing_left
    check (status <> 'completed' or (remaining_tasks = 0 and remaining_deps = 0)),
  constraint step_states_output_only_when_completed check (output is null or status = 'completed'),
  constraint step_states_skip_reason_exactly_when_skipped check ((skip_reason is not null) = (status = 'skipped')),
  constraint step_states_skip_reason_is_known
    check (skip_reason in ('condition_unmet', 'handler_failed', 'dependency_skipped')),
  constraint step_states_completed_at_exactly_when_completed
    check ((completed_at is not null) = (status = 'completed')),
  constraint step_states_failed_at_exactly_when_failed check ((failed_at is not null) = (status = 'failed')),
  constraint step_states_skipped_at_exactly_when_skipped check ((skipped_at is not null) = (status = 'skipped')),
  constraint step_states_start_not_before_creation check (started_at >= created_at),
  constraint step_states_end_not_before_start
    check (completed_at >= started_at and failed_at >= coalesce(started_at, created_at)
           and skipped_at >= coalesce(started_at, created_at))
) with (
  -- No index but the key: every update stays HOT while the page has room.
  fillfactor = 60,
  autovacuum_vacuum_scale_factor = 0.02,
  autovacuum_analyze_scale_factor = 0.02
);
$pgflow_file$;
  -- core/30_runs/02_table_step_tasks.sql
  execute $pgflow_file$-- core/30_runs/02_table_step_tasks.sql
-- One row per task: the only task of a single step, one per element of a map. Created and ended by the engine under
-- the lock of the run's row; claimed, released and recovered under the lock of the task's row alone.
--
-- (queue_name, message_id) is the durable pair that a claim goes by. queue_name is a snapshot of the step's route and
-- never changes. claim_no is the fence: +1 at every claim, release and recovery, never back. attempts_count is the
-- retry budget. recover_at is set exactly while the task is started.
-- status: failed = a real handler failure; skipped = its step was skipped; cancelled = its run failed or was cancelled.
create table pgflow.step_tasks (
  flow_slug text not null,
  run_id uuid not null,
  step_slug text not null,
  task_index int not null default 0,
  queue_name text not null,
  message_id bigint,
  status text not null default 'queued',
  attempts_count int not null default 0,
  claim_no int not null default 0,
  claimed_exact boolean not null default false,
  recover_at timestamptz,
  input jsonb,
  error_message text,
  output jsonb,
  queued_at timestamptz not null default clock_timestamp(),
  started_at timestamptz,
  completed_at timestamptz,
  failed_at timestamptz,
  last_worker_id uuid,
  requeued_count int not null default 0,
  last_requeued_at timestamptz,
  released_count int not null default 0,
  permanently_stalled_at timestamptz,
  primary key (run_id, step_slug, task_index),
  foreign key (run_id, step_slug) references pgflow.step_states (run_id, step_slug),
  constraint step_tasks_status_is_known
    check (status in ('queued', 'started', 'completed', 'failed', 'skipped', 'cancelled')),
  constraint step_tasks_counts_not_negative
    check (task_index >= 0 and attempts_count >= 0 and claim_no >= 0 and requeued_count >= 0 and released_count >= 0),
  constraint step_tasks_recover_at_exactly_when_started check ((recover_at is not null) = (status = 'started')),
  constraint step_tasks_queued_has_not_started check (status <> 'queued' or started_at is null),
  constraint step_tasks_started_has_a_start check (status <> 'started' or started_at is not null),
  constraint step_tasks_output_only_when_completed_or_failed
    check (output is null or status in ('completed', 'failed')),
  constraint step_tasks_completed_at_exactly_when_completed
    check ((completed_at is not null) = (status = 'completed')),
  constraint step_tasks_failed_at_exactly_when_failed check ((failed_at is not null) = (status = 'failed')),
  constraint step_tasks_start_not_before_queueing check (started_at >= queued_at),
  constraint step_tasks_end_not_before_start check (completed_at >= started_at and failed_at >= started_at)
) with (
  -- A task lives through three versions (queued, started, ended): room for them on the page of the first.
  fillfactor = 50,
  autovacuum_vacuum_scale_factor = 0.02,
  autovacuum_analyze_scale_factor = 0.02
);

-- The claim finds the task of a message.
create unique index step_tasks_message on pgflow.step_tasks (queue_name, message_id) where message_id is not null;

-- Coverage and statistics ask which pairs are queued on a queue (say `status = 'queued'` to get this index).
create index step_tasks_queued on pgflow.step_tasks (queue_name, flow_slug, step_slug) where status = 'queued';

-- Recovery asks for deadlines that passed. It is also the short list of everything that is started: coverage and
-- release_tasks_except find their tasks here (say `status = 'started'`).
create index step_tasks_started on pgflow.step_tasks (recover_at) where status = 'started';
$pgflow_file$;
  -- core/30_runs/03_type_step_ref.sql
  execute $pgflow_file$-- core/30_runs/03_type_step_ref.sql
-- One step of one run, as the functions of the engine hand it on in arrays.
-- note: for a finished step 'cascade' when its downstream falls with it; for a failed one the error.
create type pgflow._step_ref as (
  run_id uuid,
  flow_slug text,
  step_slug text,
  note text
);
$pgflow_file$;
  -- core/30_runs/04_type_verdict.sql
  execute $pgflow_file$-- core/30_runs/04_type_verdict.sql
-- What one reported result does to its task. Made by _judge_results, one per item whose task exists.
--
-- item      place in the caller's arrays, from 1
-- verdict   completed | violated | retry | fail | skip | skip-cascade, and two that change nothing: again | late
-- result    as reported: completed | failed | permanent | refused | stalled
-- error     for a failure the text to store; for again and late the reason to tell
-- delay     of a retry, seconds
create type pgflow._verdict as (
  item int,
  verdict text,
  result text,
  run_id uuid,
  flow_slug text,
  step_slug text,
  task_index int,
  queue_name text,
  message_id bigint,
  is_map boolean,
  output jsonb,
  error text,
  delay int
);
$pgflow_file$;
  -- core/30_runs/05_type_new_task.sql
  execute $pgflow_file$-- core/30_runs/05_type_new_task.sql
-- A task about to be created, on its way to send_batch in an array (_create_tasks).
create type pgflow._new_task as (
  flow_slug text,
  run_id uuid,
  step_slug text,
  task_index int,
  input jsonb
);
$pgflow_file$;
  -- core/30_runs/05_type_plan.sql
  execute $pgflow_file$-- core/30_runs/05_type_plan.sql
-- What a start needs to know of a flow: read once, by the statement that finds and locks the flow (_resolve_flow).
--
-- starts     a plain root step (single, no condition): it is inserted as started, nothing has to be decided about it
-- delay      of its message, seconds
create type pgflow._plan_step as (
  step_slug text,
  step_type text,
  deps_count int,
  starts boolean,
  queue_name text,
  delay int
);

-- steps      all of them, in the order of the definition
-- is_plain   every root step is plain
create type pgflow._plan as (
  flow_slug text,
  steps pgflow._plan_step[],
  is_plain boolean
);
$pgflow_file$;
  -- core/30_runs/06_compression.sql
  execute $pgflow_file$-- core/30_runs/06_compression.sql
-- Payloads are compressed by lz4 where the server was built with it (Debian's and the official packages are): an output
-- is stored with its task, its step and its run, and pglz takes ten times as long for each.
do $$
declare
  payload record;
begin
  if not exists (
    select from pg_catalog.pg_settings s
    where s.name = 'default_toast_compression' and 'lz4' = any (s.enumvals)
  ) then
    return;
  end if;

  for payload in
    values ('runs', 'input'), ('runs', 'output'), ('step_states', 'output'),
           ('step_tasks', 'input'), ('step_tasks', 'output')
  loop
    execute format('alter table pgflow.%I alter column %I set compression lz4', payload.column1, payload.column2);
  end loop;
end
$$;
$pgflow_file$;
  -- core/30_runs/_advance.sql
  execute $pgflow_file$-- core/30_runs/_advance.sql
-- The part of the engine that starts and results share: carries runs on from steps that changed until nothing more
-- changes, then closes runs, creates tasks, sends events. Set-based over any mix of runs and flows.
--
-- finished     steps just completed or skipped, their dependents not told yet
-- ready        created steps without open dependencies that need a decision (a condition, a map)
-- opened       steps just started, their tasks not created yet
-- failed       steps just failed; each fails its run. note: the error
-- steps_left   sum of remaining_steps of the runs before this call: when all of them finished, nobody is told
-- new_runs     runs made by this call
-- Gives back the queues with a message visible now, and the messages of cancelled tasks, for the caller to archive
-- after its own task locks.
--
-- A round that finishes a step with dependents costs one statement (_free_dependents), a decision one more
-- (_open_steps); a step that leaves nothing to do costs none.
-- Locks: the caller holds every run's row (or made it). Callers: _start_runs, _apply_results.
create function pgflow._advance(
  finished pgflow._step_ref[],
  ready pgflow._step_ref[],
  opened pgflow._step_ref[],
  failed pgflow._step_ref[],
  steps_left bigint,
  new_runs uuid[],
  out woken text[],
  out dead_queues text[],
  out dead_messages bigint[]
)
language plpgsql
set search_path = ''
as $$
declare
  closed pgflow._step_ref[] := finished;
  fallen pgflow._step_ref[];
  step record;
begin
  loop
    if cardinality(finished) > 0 and steps_left > cardinality(closed) then
      fallen := pgflow._skip_downstream(finished, failed);
      closed := closed || fallen;
      select f.opened, f.ready into step from pgflow._free_dependents(finished || fallen, failed) f;
      opened := opened || step.opened;
      ready := ready || step.ready;
    end if;
    exit when cardinality(ready) = 0;

    select o.opened, o.finished, o.failed into step from pgflow._open_steps(ready) o;
    opened := opened || step.opened;
    failed := failed || step.failed;
    closed := closed || step.finished;
    finished := step.finished;
    ready := '{}';
  end loop;

  failed := failed || pgflow._close_runs(case when cardinality(failed) = 0 then closed else array(
    select c from unnest(closed) c where c.run_id <> all (array(select f.run_id from unnest(failed) f))) end);
  if cardinality(failed) > 0 then
    opened := pgflow._fail_runs(failed, opened);
    select c.queue_names, c.message_ids into dead_queues, dead_messages
    from pgflow._end_tasks(array(
      select row(st.run_id, st.flow_slug, st.step_slug, null)::pgflow._step_ref
      from pgflow.step_states st
      where st.run_id = any (array(select f.run_id from unnest(failed) f)) and st.status in ('started', 'failed')
    ), 'cancelled') c;
  end if;
  if cardinality(opened) > 0 then
    woken := pgflow._create_tasks(opened);
  end if;

  if to_regprocedure('realtime.send(jsonb,text,text,boolean)') is not null then
    perform pgflow._send_events(new_runs, closed || failed || opened);
  end if;
end
$$;
$pgflow_file$;
  -- core/30_runs/_advance_new_runs.sql
  execute $pgflow_file$-- core/30_runs/_advance_new_runs.sql
-- Carries new runs on from their inserted states, whatever steps and however many they are: root steps that started
-- get tasks, those with a condition or a map are decided. Returns the queues with a message visible now.
-- Locks: none; the caller made the runs. Callers: _start_runs.
create function pgflow._advance_new_runs(run_ids uuid[], plan pgflow._plan)
returns text[]
language plpgsql
set search_path = ''
as $$
declare
  opened pgflow._step_ref[];
  ready pgflow._step_ref[];
  woken text[];
begin
  select coalesce(array_agg(x.ref order by x.run_place, x.step_place) filter (where x.starts), '{}'),
         coalesce(array_agg(x.ref order by x.run_place, x.step_place) filter (where not x.starts), '{}')
  into opened, ready
  from (
    select row(r.run_id, plan.flow_slug, s.step_slug, null)::pgflow._step_ref as ref, s.starts,
           r.place as run_place, s.place as step_place
    from unnest(run_ids) with ordinality as r (run_id, place)
    cross join unnest(plan.steps) with ordinality
                 as s (step_slug, step_type, deps_count, starts, queue_name, delay, place)
    where s.deps_count = 0
  ) x;

  select a.woken into woken
  from pgflow._advance('{}', ready, opened, '{}', cardinality(run_ids) * cardinality(plan.steps), run_ids) a;
  return woken;
end
$$;
$pgflow_file$;
  -- core/30_runs/_apply_results.sql
  execute $pgflow_file$-- core/30_runs/_apply_results.sql
-- The engine: applies a batch of results over any mix of runs, flows and queues. Everything that ends an attempt goes
-- through here. Arrays are parallel, one element an item; see _judge_results for the fence and the verdicts.
--
-- A batch of plain completions that end their runs is five statements: lock runs, write tasks, write states, write
-- runs, archive. What a batch does not contain (failures, retries, maps that fill, skips, dependents, events) costs
-- nothing.
-- Gives back the verdicts by item (none for a task that does not exist), and the queues with a message visible now.
-- Locks: runs by id, tasks by (run, step, index), then messages; step states are written under the run's lock.
-- Callers: finish_tasks, complete_task, fail_task, _fail_stalled.
create function pgflow._apply_results(
  worker_id uuid, run_ids uuid[], step_slugs text[], task_indexes int[], claim_nos int[],
  results text[], outputs jsonb[], errors text[], retry_afters int[],
  out verdicts pgflow._verdict[],
  out woken text[]
)
language plpgsql
set search_path = ''
as $$
declare
  steps_left bigint;
  tasks record;
  step record;
  map record;
  skipped record;
  tail record;
begin
  select sum(r.remaining_steps) into steps_left
  from (
    select x.remaining_steps
    from pgflow.runs x
    where x.run_id = any (run_ids)
    order by x.run_id
    for no key update
  ) r;

  select t.* into tasks
  from pgflow._settle_tasks(worker_id, run_ids, step_slugs, task_indexes, claim_nos, results, outputs, errors,
                            retry_afters) t;
  verdicts := tasks.verdicts;
  if cardinality(tasks.dead_messages) = 0 and tasks.has_retries is not true then
    return;
  end if;

  select c.finished, c.failed, c.full_maps into step from pgflow._count_results(verdicts) c;
  if cardinality(step.full_maps) > 0 then
    select m.finished, m.failed into map from pgflow._close_maps(step.full_maps) m;
    step.finished := step.finished || map.finished;
    step.failed := step.failed || map.failed;
  end if;
  if tasks.has_skips then
    select s.queue_names, s.message_ids into skipped from pgflow._end_tasks(step.finished, 'skipped') s;
    tasks.dead_queues := tasks.dead_queues || skipped.queue_names;
    tasks.dead_messages := tasks.dead_messages || skipped.message_ids;
  end if;
  if cardinality(step.finished) > 0 or cardinality(step.failed) > 0 then
    select a.woken, a.dead_queues, a.dead_messages into tail
    from pgflow._advance(step.finished, '{}', '{}', step.failed, steps_left, '{}') a;
    woken := tail.woken;
    tasks.dead_queues := tasks.dead_queues || tail.dead_queues;
    tasks.dead_messages := tasks.dead_messages || tail.dead_messages;
  end if;

  perform pgflow._archive(tasks.dead_queues, tasks.dead_messages);
  if tasks.has_retries then
    woken := woken || pgflow._delay_retries(verdicts);
  end if;
  if cardinality(woken) > 0 then
    perform pgflow._notify(woken);
  end if;
end
$$;
$pgflow_file$;
  -- core/30_runs/_cast_outputs.sql
  execute $pgflow_file$-- core/30_runs/_cast_outputs.sql
-- Turns the outputs of a batch of results into jsonb: all in one go, and item by item only when that raises. An output
-- that jsonb refuses turns its item into result 'refused', with the reason as its error; the others are as given.
-- Only completed items have an output; a missing one is null, as JSON.
-- Locks: none. Callers: finish_tasks.
create function pgflow._cast_outputs(
  inout results text[],
  outputs text[],
  inout errors text[],
  out parsed jsonb[]
)
language plpgsql
immutable
set search_path = ''
as $$
begin
  begin
    parsed := array(
      select case when i.result = 'completed' then coalesce(i.output, 'null')::jsonb end
      from unnest(results, outputs) with ordinality as i (result, output, item)
      order by i.item);
    return;
  exception when data_exception or program_limit_exceeded or internal_error then
    parsed := array_fill(null::jsonb, array[cardinality(results)]);
    errors := coalesce(nullif(errors, '{}'), array_fill(null::text, array[cardinality(results)]));
  end;

  for item in 1 .. cardinality(results) loop
    begin
      if results[item] = 'completed' then
        parsed[item] := coalesce(outputs[item], 'null')::jsonb;
      end if;
    exception when data_exception or program_limit_exceeded or internal_error then
      results[item] := 'refused';
      errors[item] := format('[OUTPUT_REFUSED] the output cannot be stored as jsonb: %s', sqlerrm);
    end;
  end loop;
end
$$;
$pgflow_file$;
  -- core/30_runs/_check_inputs.sql
  execute $pgflow_file$-- core/30_runs/_check_inputs.sql
-- Refuses inputs that a flow cannot start with, before anything is written: null, or no array for a root map step.
-- Errors: null_value_not_allowed, invalid_parameter_value. Callers: _start_runs, when there may be one.
create function pgflow._check_inputs(plan pgflow._plan, inputs jsonb[])
returns void
language plpgsql
set search_path = ''
as $$
declare
  root_map text;
  bad record;
begin
  select s.step_slug into root_map
  from unnest(plan.steps) with ordinality as s (step_slug, step_type, deps_count, starts, queue_name, delay, place)
  where s.step_type = 'map' and s.deps_count = 0
  order by s.place
  limit 1;

  select i.place, jsonb_typeof(i.input) as kind into bad
  from unnest(inputs) with ordinality as i (input, place)
  where i.input is null or (root_map is not null and jsonb_typeof(i.input) <> 'array')
  order by i.place
  limit 1;

  if not found then
    return;
  elsif bad.kind is null then
    raise exception 'input % of flow "%" is null', bad.place, plan.flow_slug
      using errcode = 'null_value_not_allowed', hint = 'Give a JSON value; an empty one is {}.';
  end if;
  raise exception 'input % of flow "%" is of type %, and its map step "%" needs an array',
      bad.place, plan.flow_slug, bad.kind, root_map
    using errcode = 'invalid_parameter_value', hint = 'Give a JSON array; an empty one makes no tasks.';
end
$$;
$pgflow_file$;
  -- core/30_runs/_check_results.sql
  execute $pgflow_file$-- core/30_runs/_check_results.sql
-- Refuses arguments of finish_tasks that are malformed as a whole: a mistake of the caller, not of an item.
-- Errors: invalid_parameter_value. Callers: finish_tasks.
create function pgflow._check_results(
  worker_id uuid, run_ids uuid[], step_slugs text[], task_indexes int[], claim_nos int[],
  results text[], outputs text[], errors text[], retry_afters int[])
returns void
language plpgsql
immutable
set search_path = ''
as $$
declare
  items int := cardinality(run_ids);
begin
  if worker_id is null then
    raise exception 'worker_id is null'
      using errcode = 'invalid_parameter_value', hint = 'Give the id that the tasks were claimed with.';
  end if;

  if cardinality(step_slugs) is distinct from items or cardinality(task_indexes) is distinct from items
     or cardinality(claim_nos) is distinct from items or cardinality(results) is distinct from items
     or coalesce(cardinality(outputs), items) is distinct from items
     or coalesce(cardinality(errors), items) is distinct from items
     or coalesce(cardinality(retry_afters), items) is distinct from items then
    raise exception 'the arrays have different lengths: % run_ids, % step_slugs, % task_indexes, % claim_nos, % results, % outputs, % errors, % retry_afters',
        items, cardinality(step_slugs), cardinality(task_indexes), cardinality(claim_nos), cardinality(results),
        cardinality(outputs), cardinality(errors), cardinality(retry_afters)
      using errcode = 'invalid_parameter_value', hint = 'The arrays are parallel: one element an item in each.';
  end if;

  if not results <@ array['completed', 'failed', 'permanent'] then
    raise exception 'result "%" is not known', (
        select r.result
        from unnest(results) r (result)
        where r.result is null or r.result not in ('completed', 'failed', 'permanent')
        limit 1)
      using errcode = 'invalid_parameter_value', hint = 'Use completed, failed or permanent.';
  end if;
end
$$;
$pgflow_file$;
  -- core/30_runs/_close_maps.sql
  execute $pgflow_file$-- core/30_runs/_close_maps.sql
-- Completes maps whose last task completed: their output is the array of the tasks' outputs in index order, read once
-- per map. An array that does not fit jsonb fails its step for good, as when_exhausted says; the tasks keep their
-- outputs and no handler runs again. Gives back the finished and the failed steps, as _record_results does.
--
-- When the statement raises, each map goes by itself, so that only the one that does not fit suffers.
-- Locks: the caller holds the runs. Callers: _apply_results.
create function pgflow._close_maps(
  full_maps pgflow._step_ref[],
  out finished pgflow._step_ref[],
  out failed pgflow._step_ref[]
)
language plpgsql
set search_path = ''
as $$
declare
  map pgflow._step_ref;
  one record;
begin
  begin
    update pgflow.step_states st
    set status = 'completed',
        completed_at = greatest(clock_timestamp(), st.started_at),
        output = (
          select jsonb_agg(o.output)
          from (select t.output
                from pgflow.step_tasks t
                where t.run_id = st.run_id and t.step_slug = st.step_slug
                order by t.task_index) o)
    from unnest(full_maps) m
    where st.run_id = any (array[m.run_id]) and st.step_slug = m.step_slug;
    finished := full_maps;
    failed := '{}';
    return;
  exception when program_limit_exceeded or internal_error then
    if cardinality(full_maps) = 1 then
      select f.finished, f.failed into finished, failed from pgflow._fail_map(full_maps[1], sqlerrm) f;
      return;
    end if;
  end;

  finished := '{}';
  failed := '{}';
  foreach map in array full_maps loop
    select c.finished, c.failed into one from pgflow._close_maps(array[map]) c;
    finished := finished || one.finished;
    failed := failed || one.failed;
  end loop;
end
$$;
$pgflow_file$;
  -- core/30_runs/_close_runs.sql
  execute $pgflow_file$-- core/30_runs/_close_runs.sql
-- Counts finished steps down from their runs and completes the runs that have none left: output is the object of the
-- completed leaf steps' outputs. Gives back the steps that failed here: only when that object does not fit jsonb.
--
-- One subtransaction a call, not one a run. When the statement raises, each run goes by itself, so that only the one
-- whose output does not fit fails.
-- Locks: the caller holds the runs. Callers: _advance.
create function pgflow._close_runs(closed pgflow._step_ref[])
returns pgflow._step_ref[]
language plpgsql
set search_path = ''
as $$
declare
  run_ids uuid[];
  failed pgflow._step_ref[] := '{}';
  run uuid;
begin
  if cardinality(closed) = 0 then
    return '{}';
  end if;

  begin
    update pgflow.runs r
    set remaining_steps = r.remaining_steps - n.steps,
        status = case when r.remaining_steps = n.steps then 'completed' else r.status end,
        completed_at = case when r.remaining_steps = n.steps then greatest(clock_timestamp(), r.started_at) end,
        output = case when r.remaining_steps = n.steps then (
          select coalesce(jsonb_object_agg(st.step_slug, st.output), '{}')
          from pgflow.step_states st
          where st.run_id = r.run_id and st.status = 'completed'
            and not exists (
              select
              from pgflow.deps d
              join pgflow.step_states ds on ds.run_id = st.run_id and ds.step_slug = d.step_slug
              where d.flow_slug = st.flow_slug and d.dep_slug = st.step_slug)) end
    from (select c.run_id, count(*)::int as steps from unnest(closed) c group by c.run_id) n
    where r.run_id = any (array[n.run_id]);
    return '{}';
  exception when program_limit_exceeded or internal_error then
    run_ids := array(select distinct c.run_id from unnest(closed) c order by 1);
  end;

  if cardinality(run_ids) = 1 then
    return array[pgflow._fail_last_leaf(run_ids[1])];
  end if;
  foreach run in array run_ids loop
    failed := failed || pgflow._close_runs(array(select c from unnest(closed) c where c.run_id = run));
  end loop;
  return failed;
end
$$;
$pgflow_file$;
  -- core/30_runs/_complete_tasks.sql
  execute $pgflow_file$-- core/30_runs/_complete_tasks.sql
-- The short way of a completed task, and that of nearly all: fence, lock and write in one statement. An item that this
-- leaves alone (its fence fails, its output is none that a map of its run can take, it did not complete) is for
-- _judge_results, which says why.
--
-- The fence is the one of _judge_results. It is tested on the newest version of the row: an update that waited for
-- another session tests its conditions anew.
-- A task of a map has an input, its element; the task of a single step has none.
-- A task given twice in one batch is written once, by the first item; the other is for _judge_results.
-- Gives back the verdicts, in no order, and beside them the messages to archive.
-- `any (array[...])`, and the status inside a `case`: see docs/internals/sql-engine.md, plans.
-- Locks: the tasks by (run, step, index); the caller holds the runs. Callers: _apply_results.
create function pgflow._complete_tasks(
  worker_id uuid, run_ids uuid[], step_slugs text[], task_indexes int[], claim_nos int[],
  results text[], outputs jsonb[],
  out verdicts pgflow._verdict[],
  out queue_names text[],
  out message_ids bigint[]
)
language plpgsql
set search_path = ''
as $$
begin
  with completed as (
    update pgflow.step_tasks t
    set status = 'completed',
        output = i.output,
        recover_at = null,
        completed_at = greatest(clock_timestamp(), t.started_at)
    from (
      select g.*
      from unnest(run_ids, step_slugs, task_indexes, claim_nos, results, outputs) with ordinality
        as g (run_id, step_slug, task_index, claim_no, result, output, item)
      where g.result = 'completed'
      order by g.run_id, g.step_slug, g.task_index, g.item
    ) i
    where t.run_id = any (array[i.run_id]) and t.step_slug = i.step_slug and t.task_index = i.task_index
      and case when t.status <> 'started' then false
               when worker_id is null then not t.claimed_exact
               else t.claim_no = i.claim_no and t.last_worker_id = worker_id end
      and (t.input is not null or jsonb_typeof(i.output) = 'array' or not exists (
        select
        from pgflow.deps d
        join pgflow.steps m on m.flow_slug = d.flow_slug and m.step_slug = d.step_slug and m.step_type = 'map'
        where d.flow_slug = t.flow_slug and d.dep_slug = t.step_slug))
    returning i.item, t.run_id, t.flow_slug, t.step_slug, t.task_index, t.queue_name, t.message_id,
              t.input is not null as is_map, i.output
  )
  select coalesce(array_agg(row(c.item, 'completed', 'completed', c.run_id, c.flow_slug, c.step_slug, c.task_index,
                                c.queue_name, c.message_id, c.is_map, c.output, null, null)::pgflow._verdict), '{}'),
         coalesce(array_agg(c.queue_name), '{}'),
         coalesce(array_agg(c.message_id), '{}')
  into verdicts, queue_names, message_ids
  from completed c;
end
$$;
$pgflow_file$;
  -- core/30_runs/_count_results.sql
  execute $pgflow_file$-- core/30_runs/_count_results.sql
-- Counts verdicts into the step states, in one statement: a single step ends with its task, a map when its last one
-- completed. Gives back the steps that finished (single steps completed, steps skipped; note 'cascade'), the steps that
-- failed (note: the error), and the maps whose last task completed, which wait for their array (_close_maps).
-- Locks: the caller holds the runs. Callers: _apply_results.
create function pgflow._count_results(
  verdicts pgflow._verdict[],
  out finished pgflow._step_ref[],
  out failed pgflow._step_ref[],
  out full_maps pgflow._step_ref[]
)
language plpgsql
set search_path = ''
as $$
begin
  with step as (
    select v.run_id, v.step_slug, v.is_map, case when v.verdict = 'completed' then 1 else 0 end as completed,
           nullif(v.verdict, 'completed') as ending, v.error,
           case when v.verdict = 'completed' then v.output end as output
    from unnest(verdicts) v
    where not v.is_map and v.verdict not in ('again', 'late', 'retry')
    union all
    select v.run_id, v.step_slug, true, count(*) filter (where v.verdict = 'completed')::int,
           max(nullif(v.verdict, 'completed')), min(v.error), null
    from unnest(verdicts) v
    where v.is_map and v.verdict not in ('again', 'late', 'retry')
    group by v.run_id, v.step_slug
  ), counted as (
    update pgflow.step_states st
    set status = n.status,
        remaining_tasks = case when n.status = 'skipped' then 0 else st.remaining_tasks - s.completed end,
        output = s.output,
        error_message = s.error,
        skip_reason = case when n.status = 'skipped' then 'handler_failed' end,
        completed_at = case when n.status = 'completed' then greatest(clock_timestamp(), st.started_at) end,
        failed_at = case when n.status = 'failed' then greatest(clock_timestamp(), st.started_at) end,
        skipped_at = case when n.status = 'skipped' then greatest(clock_timestamp(), st.started_at) end
    from step s
    cross join lateral (select case
      when s.ending in ('skip', 'skip-cascade') then 'skipped'
      when s.ending is not null then 'failed'
      when s.is_map then 'started'
      else 'completed' end) as n (status)
    where st.run_id = any (array[s.run_id]) and st.step_slug = s.step_slug
    returning st.status, st.remaining_tasks, row(st.run_id, st.flow_slug, st.step_slug,
      case st.status when 'failed' then s.error
                     when 'skipped' then case s.ending when 'skip-cascade' then 'cascade' end
      end)::pgflow._step_ref as ref
  )
  select coalesce(array_agg(c.ref) filter (where c.status in ('completed', 'skipped')), '{}'),
         coalesce(array_agg(c.ref) filter (where c.status = 'failed'), '{}'),
         coalesce(array_agg(c.ref) filter (where c.status = 'started' and c.remaining_tasks = 0), '{}')
  into finished, failed, full_maps
  from counted c;
end
$$;
$pgflow_file$;
  -- core/30_runs/_create_first_tasks.sql
  execute $pgflow_file$-- core/30_runs/_create_first_tasks.sql
-- Creates the tasks of one new run whose root steps are all plain, and sends their messages. Returns the queues on
-- which one is visible now (a start delay makes it visible later). _create_tasks does the same for any steps of any
-- runs; for one task it takes twice as long.
-- Locks: none; the caller made the run. Callers: _start_runs.
create function pgflow._create_first_tasks(run_id uuid, plan pgflow._plan)
returns text[]
language plpgsql
set search_path = ''
as $$
declare
  step pgflow._plan_step;
  woken text[];
begin
  foreach step in array plan.steps loop
    continue when not step.starts;
    insert into pgflow.step_tasks (flow_slug, run_id, step_slug, task_index, queue_name, message_id)
    select plan.flow_slug, _create_first_tasks.run_id, step.step_slug, 0, step.queue_name, m.message_id
    from pgmq.send(step.queue_name,
                   jsonb_build_object('flow_slug', plan.flow_slug, 'run_id', _create_first_tasks.run_id,
                                      'step_slug', step.step_slug, 'task_index', 0),
                   null::jsonb, clock_timestamp() + make_interval(secs => step.delay)) as m (message_id);
    if step.delay = 0 then
      woken := woken || step.queue_name;
    end if;
  end loop;
  return woken;
end
$$;
$pgflow_file$;
  -- core/30_runs/_create_tasks.sql
  execute $pgflow_file$-- core/30_runs/_create_tasks.sql
-- Creates the tasks of steps that were just started and sends their messages. Returns the queues on which one is
-- visible now (a start delay makes it visible later).
--
-- One pass over the array of a map gives each task its element, whatever N is. Tasks are grouped by queue and delay;
-- the ids that send_batch returns come in the order of its bodies, so `rows from` puts them beside their tasks
-- without a join.
-- Locks: none; the caller holds the runs. Callers: _advance.
create function pgflow._create_tasks(opened pgflow._step_ref[])
returns text[]
language plpgsql
set search_path = ''
as $$
declare
  woken text[];
  tasks_made bigint;
begin
  with task as (
    select s.queue_name, coalesce(s.opt_start_delay, 0) as delay, o.place, o.run_id, o.flow_slug, o.step_slug,
           e.task_index, e.input
    from unnest(opened) with ordinality as o (run_id, flow_slug, step_slug, note, place)
    join pgflow.steps s on s.flow_slug = any (array[o.flow_slug]) and s.step_slug = o.step_slug
    cross join lateral (
      select 0 as task_index, null::jsonb as input
      where s.step_type = 'single'
      union all
      select (a.place - 1)::int, a.element
      from jsonb_array_elements(case when s.step_type <> 'map' then null
        when s.deps_count = 0 then (select r.input from pgflow.runs r where r.run_id = o.run_id)
        else (
          select ds.output
          from pgflow.deps d
          join pgflow.step_states ds on ds.run_id = o.run_id and ds.step_slug = d.dep_slug
          where d.flow_slug = o.flow_slug and d.step_slug = o.step_slug) end) with ordinality as a (element, place)
    ) e
  ), batch as materialized (
    select t.queue_name, t.delay,
           array_agg(row(t.flow_slug, t.run_id, t.step_slug, t.task_index, t.input)::pgflow._new_task) as tasks,
           array_agg(jsonb_build_object('flow_slug', t.flow_slug, 'run_id', t.run_id,
                                        'step_slug', t.step_slug, 'task_index', t.task_index)) as bodies
    from (select * from task order by queue_name, delay, place, task_index) t
    group by t.queue_name, t.delay
  ), made as (
    insert into pgflow.step_tasks (flow_slug, run_id, step_slug, task_index, queue_name, message_id, input)
    select sent.flow_slug, sent.run_id, sent.step_slug, sent.task_index, b.queue_name, sent.message_id, sent.input
    from batch b
    cross join lateral rows from (
      unnest(b.tasks),
      pgmq.send_batch(b.queue_name, b.bodies, null::jsonb[], clock_timestamp() + make_interval(secs => b.delay))
    ) as sent (flow_slug, run_id, step_slug, task_index, input, message_id)
    returning 1
  )
  select array_agg(distinct b.queue_name) filter (where b.delay = 0), (select count(*) from made)
  into woken, tasks_made
  from batch b;
  return woken;
end
$$;
$pgflow_file$;
  -- core/30_runs/_delay_retries.sql
  execute $pgflow_file$-- core/30_runs/_delay_retries.sql
-- Hides the messages of tasks that are tried again until their next attempt is due. Returns the queues on which one is
-- visible now (a delay of 0). A task that the same batch cancelled or skipped after all is passed over.
-- Locks: the messages by queue and id; the caller holds the tasks. Callers: _apply_results.
create function pgflow._delay_retries(verdicts pgflow._verdict[])
returns text[]
language plpgsql
set search_path = ''
as $$
begin
  return (
    select pgflow._show_tasks(array_agg(v.run_id), array_agg(v.step_slug), array_agg(v.task_index),
                              array_agg(v.queue_name), array_agg(v.message_id), array_agg(v.delay))
    from unnest(verdicts) v
    join pgflow.step_tasks t
      on t.run_id = any (array[v.run_id]) and t.step_slug = v.step_slug and t.task_index = v.task_index
    where v.verdict = 'retry' and t.status || '' = 'queued');
end
$$;
$pgflow_file$;
  -- core/30_runs/_end_tasks.sql
  execute $pgflow_file$-- core/30_runs/_end_tasks.sql
-- Ends the live tasks of steps that ended without them: as 'skipped' those of a step that was skipped because a handler
-- failed for good (a map has more than one), as 'cancelled' those of a run that failed or was cancelled. Gives back
-- their messages for the caller to archive.
-- Waits for a claim or a release that holds a task; whatever they made of it, queued or started, it ends.
-- Locks: the tasks by (run, step, index); the caller holds the runs. Callers: _apply_results, _advance, cancel_run.
create function pgflow._end_tasks(
  steps pgflow._step_ref[],
  status text,
  out queue_names text[],
  out message_ids bigint[]
)
language plpgsql
set search_path = ''
as $$
begin
  with live as (
    select t.run_id, t.step_slug, t.task_index
    from unnest(steps) s
    join pgflow.step_tasks t on t.run_id = any (array[s.run_id]) and t.step_slug = s.step_slug
    where t.status in ('queued', 'started')
    order by s.run_id, s.step_slug, t.task_index
    for no key update of t
  ), ended as (
    update pgflow.step_tasks t
    set status = _end_tasks.status,
        recover_at = null
    from live l
    where t.run_id = any (array[l.run_id]) and t.step_slug = l.step_slug and t.task_index = l.task_index
    returning t.queue_name, t.message_id
  )
  select array_agg(e.queue_name), array_agg(e.message_id) into queue_names, message_ids
  from ended e;
end
$$;
$pgflow_file$;
  -- core/30_runs/_fail_last_leaf.sql
  execute $pgflow_file$-- core/30_runs/_fail_last_leaf.sql
-- Fails the leaf step that completed last, in a run whose output does not fit jsonb, so that the reason has a place; its
-- task keeps its output. Returns the failed step, which fails the run (_fail_runs).
-- Locks: the caller holds the run. Callers: _close_runs.
create function pgflow._fail_last_leaf(run_id uuid)
returns pgflow._step_ref
language plpgsql
set search_path = ''
as $$
declare
  failed pgflow._step_ref;
begin
  update pgflow.step_states st
  set status = 'failed',
      output = null,
      completed_at = null,
      failed_at = greatest(clock_timestamp(), st.completed_at),
      error_message = '[OUTPUT_TOO_LARGE] the outputs of the leaf steps do not fit into the output of the run'
  where st.run_id = _fail_last_leaf.run_id
    and st.step_slug = (
      select leaf.step_slug
      from pgflow.step_states leaf
      where leaf.run_id = _fail_last_leaf.run_id and leaf.status = 'completed'
        and not exists (
          select
          from pgflow.deps d
          join pgflow.step_states ds on ds.run_id = leaf.run_id and ds.step_slug = d.step_slug
          where d.flow_slug = leaf.flow_slug and d.dep_slug = leaf.step_slug)
      order by leaf.completed_at desc, leaf.step_slug
      limit 1)
  returning st.run_id, st.flow_slug, st.step_slug, st.error_message into failed;
  return failed;
end
$$;
$pgflow_file$;
  -- core/30_runs/_fail_map.sql
  execute $pgflow_file$-- core/30_runs/_fail_map.sql
-- Fails or skips a map, as its when_exhausted says, whose outputs do not fit into one array. Gives back the step as
-- finished (skipped; note 'cascade') or failed (note: the error).
-- Locks: the caller holds the run. Callers: _close_maps.
create function pgflow._fail_map(
  map pgflow._step_ref,
  reason text,
  out finished pgflow._step_ref[],
  out failed pgflow._step_ref[]
)
language plpgsql
set search_path = ''
as $$
declare
  ending text := (
    select s.when_exhausted from pgflow.steps s where s.flow_slug = map.flow_slug and s.step_slug = map.step_slug);
begin
  update pgflow.step_states st
  set status = case ending when 'fail' then 'failed' else 'skipped' end,
      error_message = format('[OUTPUT_TOO_LARGE] the outputs of the %s tasks do not fit into one array: %s',
                             st.initial_tasks, reason),
      skip_reason = case when ending <> 'fail' then 'handler_failed' end,
      failed_at = case when ending = 'fail' then greatest(clock_timestamp(), st.started_at) end,
      skipped_at = case when ending <> 'fail' then greatest(clock_timestamp(), st.started_at) end
  where st.run_id = map.run_id and st.step_slug = map.step_slug
  returning case ending when 'fail' then st.error_message when 'skip-cascade' then 'cascade' end into map.note;

  finished := case when ending = 'fail' then '{}' else array[map] end;
  failed := case when ending = 'fail' then array[map] else '{}' end;
end
$$;
$pgflow_file$;
  -- core/30_runs/_fail_runs.sql
  execute $pgflow_file$-- core/30_runs/_fail_runs.sql
-- Ends the runs of failed steps and counts what they leave undone. One update a run and call, which is why _close_runs
-- passes these runs over: a row written twice by one transaction has its foreign key checked again, and that would
-- lock the flow after the run, against the lock order. Steps of these runs that were started by the same call have no task yet and never
-- get one: they go back to created. Gives back the opened steps of the other runs.
-- Locks: the caller holds the runs. Callers: _advance.
create function pgflow._fail_runs(failed pgflow._step_ref[], opened pgflow._step_ref[])
returns pgflow._step_ref[]
language plpgsql
set search_path = ''
as $$
declare
  run_ids uuid[] := array(select distinct f.run_id from unnest(failed) f);
begin
  update pgflow.runs r
  set status = 'failed',
      failed_at = greatest(clock_timestamp(), r.started_at),
      remaining_steps = (
        select count(*)
        from pgflow.step_states st
        where st.run_id = r.run_id and st.status not in ('completed', 'skipped'))
  where r.run_id = any (run_ids) and r.status || '' = 'started';

  update pgflow.step_states st
  set status = 'created',
      remaining_tasks = null,
      started_at = null
  from unnest(opened) o
  where o.run_id = any (run_ids)
    and st.run_id = any (array[o.run_id]) and st.step_slug = o.step_slug and st.status = 'started';

  return array(select o from unnest(opened) o where o.run_id <> all (run_ids));
end
$$;
$pgflow_file$;
  -- core/30_runs/_fail_stalled.sql
  execute $pgflow_file$-- core/30_runs/_fail_stalled.sql
-- Fails started tasks for good that recovery gave up on: the normal final failure, without a retry; when_exhausted
-- decides. Arrays are parallel; message is the error of each. Tasks that are no longer started, or no longer past their
-- deadline, are passed over: they are looked at again under their locks.
-- Locks: runs by id, tasks by (run, step, index), messages. Callers: requeue_stalled_tasks.
create function pgflow._fail_stalled(run_ids uuid[], step_slugs text[], task_indexes int[], message text)
returns void
language plpgsql
set search_path = ''
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
as $$
begin
  perform pgflow._apply_results(null, run_ids, step_slugs, task_indexes, null,
                                array_fill('stalled'::text, array[cardinality(run_ids)]), null,
                                array_fill(message, array[cardinality(run_ids)]), null);
end
$$;
$pgflow_file$;
  -- core/30_runs/_free_dependents.sql
  execute $pgflow_file$-- core/30_runs/_free_dependents.sql
-- Tells the dependents of finished steps: counts down remaining_deps and starts at once the plain ones (single, no
-- condition) that waited for nothing else. Gives back those as opened, and as ready the others that need a decision.
-- Runs that fail in the same call are left as they are.
-- Locks: the caller holds the runs. Callers: _advance.
create function pgflow._free_dependents(
  finished pgflow._step_ref[],
  failed pgflow._step_ref[],
  out opened pgflow._step_ref[],
  out ready pgflow._step_ref[]
)
language plpgsql
set search_path = ''
as $$
begin
  with dependent as (
    select f.run_id, d.flow_slug, d.step_slug, count(*)::int as freed
    from unnest(finished) f
    join pgflow.deps d on d.flow_slug = any (array[f.flow_slug]) and d.dep_slug = f.step_slug
    where f.run_id <> all (array(select x.run_id from unnest(failed) x))
    group by f.run_id, d.flow_slug, d.step_slug
  ), told as (
    update pgflow.step_states st
    set remaining_deps = st.remaining_deps - d.freed,
        status = case when d.freed = st.remaining_deps and s.is_plain then 'started' else st.status end,
        remaining_tasks = case when d.freed = st.remaining_deps and s.is_plain then 1 end,
        started_at = case when d.freed = st.remaining_deps and s.is_plain
                          then greatest(clock_timestamp(), st.created_at) end
    from dependent d
    cross join lateral (
      select x.step_type = 'single' and x.required_input_pattern is null
               and x.forbidden_input_pattern is null as is_plain
      from pgflow.steps x
      where x.flow_slug = any (array[d.flow_slug]) and x.step_slug = d.step_slug
    ) s
    where st.run_id = any (array[d.run_id]) and st.step_slug = d.step_slug and st.status = 'created'
    returning st.run_id, st.flow_slug, st.step_slug, st.status, st.remaining_deps
  )
  select coalesce(array_agg(row(t.run_id, t.flow_slug, t.step_slug, null)::pgflow._step_ref)
                    filter (where t.status = 'started'), '{}'),
         coalesce(array_agg(row(t.run_id, t.flow_slug, t.step_slug, null)::pgflow._step_ref)
                    filter (where t.status = 'created' and t.remaining_deps = 0), '{}')
  into opened, ready
  from told t;
end
$$;
$pgflow_file$;
  -- core/30_runs/_judge_results.sql
  execute $pgflow_file$-- core/30_runs/_judge_results.sql
-- Locks the tasks of a batch of results and says what each result does (see the type _verdict). A task that does not
-- exist gets no verdict. Changes nothing.
--
-- decided: the items that _complete_tasks has written; they get no verdict here.
-- The fence: with a worker_id a result counts when the task is started under this worker and this claim_no. Without
-- one (old clients) when it is started and not claimed_exact. A 'stalled' one, from recovery, when it is started and
-- still past its deadline: it may have been claimed again since recovery looked.
-- A task given twice in one batch counts once, a completion before anything else; the second is 'again'.
-- A task of a map has an input, its element; the task of a single step has none.
-- Lock and verdict may be one statement: PostgreSQL gives the locked row in its newest version, and nothing else that
-- is read here changes while the run is locked.
-- `any (array[...])`: see docs/internals/sql-engine.md, plans.
-- Locks: the tasks by (run, step, index); the caller holds the runs. Callers: _apply_results.
create function pgflow._judge_results(
  worker_id uuid, run_ids uuid[], step_slugs text[], task_indexes int[], claim_nos int[],
  results text[], outputs jsonb[], errors text[], retry_afters int[], decided int[])
returns pgflow._verdict[]
language plpgsql
set search_path = ''
as $$
begin
  return array(
    with task as (
      select i.item, i.result, i.output, i.error, i.retry_after, t.flow_slug, t.run_id, t.step_slug, t.task_index,
             t.queue_name, t.message_id, t.attempts_count, t.status, t.input is not null as is_map,
             case when i.result = 'stalled' then coalesce(t.recover_at <= clock_timestamp(), false)
                  when worker_id is null then not t.claimed_exact
                  else coalesce(t.claim_no = i.claim_no and t.last_worker_id = worker_id, false) end as fenced
      from unnest(run_ids, step_slugs, task_indexes, claim_nos, results, outputs, errors, retry_afters) with ordinality
        as i (run_id, step_slug, task_index, claim_no, result, output, error, retry_after, item)
      join pgflow.step_tasks t
        on t.run_id = any (array[i.run_id]) and t.step_slug = i.step_slug and t.task_index = i.task_index
      where i.item <> all (decided)
      order by i.run_id, i.step_slug, i.task_index
      for no key update of t
    ), turn as (
      select t.*, t.fenced and t.status = 'started' and 1 = row_number() over (
        partition by t.run_id, t.step_slug, t.task_index order by t.fenced desc, t.item) as counts
      from task t
    ), judged as (
      select t.*, v.starved_map, o.base_delay,
        case
          when not t.counts then case when t.fenced then 'again' else 'late' end
          when t.result = 'completed' then case when v.starved_map is null then 'completed' else 'violated' end
          when t.result in ('failed', 'refused') and t.attempts_count < o.max_attempts then 'retry'
          else o.when_exhausted
        end as verdict
      from turn t
      left join lateral (
        -- A map of this run that waits for an array and would not get one.
        select min(d.step_slug) as starved_map
        from pgflow.deps d
        join pgflow.steps m on m.flow_slug = d.flow_slug and m.step_slug = d.step_slug and m.step_type = 'map'
        join pgflow.step_states st on st.run_id = t.run_id and st.step_slug = d.step_slug
        where d.flow_slug = t.flow_slug and d.dep_slug = t.step_slug
          and t.result = 'completed' and not t.is_map and jsonb_typeof(t.output) <> 'array'
      ) v on true
      left join lateral (
        select s.when_exhausted, coalesce(s.opt_max_attempts, f.opt_max_attempts) as max_attempts,
               coalesce(s.opt_base_delay, f.opt_base_delay) as base_delay
        from pgflow.steps s
        join pgflow.flows f on f.flow_slug = s.flow_slug
        where s.flow_slug = any (array[t.flow_slug]) and s.step_slug = t.step_slug and t.result <> 'completed'
      ) o on true
    )
    select row(
      j.item, j.verdict, j.result, j.run_id, j.flow_slug, j.step_slug, j.task_index, j.queue_name, j.message_id,
      j.is_map, j.output,
      case
        when j.verdict in ('again', 'late') then 'the task is ' || j.status
        when j.verdict = 'violated' then format(
          '[TYPE_VIOLATION] step "%s" feeds map step "%s" and must give an array; it gave type %s',
          j.step_slug, j.starved_map, jsonb_typeof(j.output))
        when j.verdict <> 'completed' then coalesce(nullif(j.error, ''), 'failed without a message')
      end,
      case
        when j.verdict <> 'retry' then null
        when j.retry_after is not null then least(greatest(j.retry_after, 0), 86400)
        else pgflow.calculate_retry_delay(j.base_delay, j.attempts_count)
      end)::pgflow._verdict
    from judged j
    order by j.item
  );
end
$$;
$pgflow_file$;
  -- core/30_runs/_new_run_id.sql
  execute $pgflow_file$-- core/30_runs/_new_run_id.sql
-- A new run id: a UUID of version 7, so that ids made together lie together. The keys of runs, states and tasks start
-- with it: a batch then works on a few index pages, not on one random page per row, and writes as few to the log.
-- 74 of its bits are random, from a cryptographic source: the id of a run is also what allows to read it.
-- plpgsql keeps its plan; a function in SQL is parsed and planned by each statement that calls it.
-- Callers: start_flow, start_flows.
create function pgflow._new_run_id()
returns uuid
language plpgsql
volatile
parallel safe
set search_path = ''
as $$
begin
  -- Bytes 1 to 6 are the time in ms; bits 52 and 53 turn version 4 of the random rest into 7.
  return encode(set_bit(set_bit(overlay(
      uuid_send(gen_random_uuid())
      placing substring(int8send((extract(epoch from clock_timestamp()) * 1000)::bigint) from 3)
      from 1 for 6), 52, 1), 53, 1), 'hex')::uuid;
end
$$;
$pgflow_file$;
  -- core/30_runs/_open_steps.sql
  execute $pgflow_file$-- core/30_runs/_open_steps.sql
-- Decides steps whose dependencies are all finished: tests their condition, counts the elements of maps, and starts,
-- completes (a map without elements), skips or fails each. In a run that fails here the other steps stay created.
-- Gives back the started ones, the completed and skipped ones, and the failed ones.
-- Locks: the caller holds the runs. Callers: _advance.
create function pgflow._open_steps(
  ready pgflow._step_ref[],
  out opened pgflow._step_ref[],
  out finished pgflow._step_ref[],
  out failed pgflow._step_ref[]
)
language plpgsql
set search_path = ''
as $$
begin
  with tested as (
    select r.run_id, s.flow_slug, s.step_slug, s.step_type, s.deps_count, s.when_unmet,
           case when s.required_input_pattern is not null or s.forbidden_input_pattern is not null
                then pgflow._unmet_condition(r.run_id, s) end as unmet
    from unnest(ready) r
    join pgflow.steps s on s.flow_slug = any (array[r.flow_slug]) and s.step_slug = r.step_slug
  ), decided as (
    select t.run_id, t.step_slug, t.when_unmet, t.unmet,
           case when t.unmet is null then d.tasks end as tasks,
           case when t.unmet is not null then t.when_unmet
                when d.tasks = 0 then 'complete' else 'start' end as decision,
           bool_or(t.unmet is not null and t.when_unmet = 'fail') over (partition by t.run_id) as run_fails
    from tested t
    cross join lateral (select case
      when t.step_type = 'single' then 1
      when t.deps_count = 0 then (
        select jsonb_array_length(x.input) from pgflow.runs x where x.run_id = t.run_id)
      else coalesce((
        select jsonb_array_length(ds.output)
        from pgflow.deps p
        join pgflow.step_states ds on ds.run_id = t.run_id and ds.step_slug = p.dep_slug
        where p.flow_slug = t.flow_slug and p.step_slug = t.step_slug and ds.status = 'completed'), 0)
      end as tasks) d
  ), written as (
    update pgflow.step_states st
    set status = case d.decision when 'start' then 'started' when 'complete' then 'completed'
                                 when 'fail' then 'failed' else 'skipped' end,
        initial_tasks = coalesce(d.tasks, st.initial_tasks),
        remaining_tasks = d.tasks,
        output = case when d.decision = 'complete' then '[]'::jsonb end,
        error_message = case when d.decision = 'fail'
          then format('[CONDITION_UNMET] the input of step "%s" does not meet its %s', d.step_slug, d.unmet) end,
        skip_reason = case when d.decision like 'skip%' then 'condition_unmet' end,
        started_at = case when d.tasks is not null then greatest(n.moment, st.created_at) end,
        completed_at = case when d.decision = 'complete' then greatest(n.moment, st.created_at) end,
        failed_at = case when d.decision = 'fail' then greatest(n.moment, st.created_at) end,
        skipped_at = case when d.decision like 'skip%' then greatest(n.moment, st.created_at) end
    from decided d
    cross join lateral (select clock_timestamp()) as n (moment)
    where st.run_id = any (array[d.run_id]) and st.step_slug = d.step_slug and st.status = 'created'
      and (not d.run_fails or d.decision = 'fail')
    returning st.run_id, st.flow_slug, st.step_slug, d.decision, st.error_message
  )
  select coalesce(array_agg(w.ref) filter (where w.decision = 'start'), '{}'),
         coalesce(array_agg(w.ref) filter (where w.decision in ('complete', 'skip', 'skip-cascade')), '{}'),
         coalesce(array_agg(w.ref) filter (where w.decision = 'fail'), '{}')
  into opened, finished, failed
  from (
    select x.decision, row(x.run_id, x.flow_slug, x.step_slug,
      case x.decision when 'fail' then x.error_message when 'skip-cascade' then 'cascade' end)::pgflow._step_ref as ref
    from written x
  ) w;
end
$$;
$pgflow_file$;
  -- core/30_runs/_record_results.sql
  execute $pgflow_file$-- core/30_runs/_record_results.sql
-- Writes verdicts to their tasks, in one statement. Not those of _complete_tasks, which are written already.
-- Locks: the caller holds the runs and the tasks. Callers: _apply_results.
create function pgflow._record_results(verdicts pgflow._verdict[])
returns void
language plpgsql
set search_path = ''
as $$
begin
  update pgflow.step_tasks t
  set status = case v.verdict when 'completed' then 'completed' when 'retry' then 'queued' else 'failed' end,
      output = v.output,
      error_message = coalesce(v.error, t.error_message),
      recover_at = null,
      started_at = case when v.verdict <> 'retry' then t.started_at end,
      completed_at = case when v.verdict = 'completed' then greatest(clock_timestamp(), t.started_at) end,
      failed_at = case when v.verdict not in ('completed', 'retry')
                       then greatest(clock_timestamp(), t.started_at) end,
      permanently_stalled_at = case when v.result = 'stalled'
                                    then greatest(clock_timestamp(), t.started_at) end
  from unnest(verdicts) v
  where v.verdict not in ('again', 'late')
    and t.run_id = any (array[v.run_id]) and t.step_slug = v.step_slug and t.task_index = v.task_index;
end
$$;
$pgflow_file$;
  -- core/30_runs/_resolve_flow.sql
  execute $pgflow_file$-- core/30_runs/_resolve_flow.sql
-- The concrete flow that a start goes to (aliases first, then concrete slugs), and what its steps ask of a start.
--
-- Takes the flow's row `for key share`, so that a start and a retirement or deletion never cross. The alias is read
-- without a lock: between that read and the row lock the flow may have been retired and the alias switched. A
-- resolved flow that turns out retired or gone is therefore resolved once more, until the answer stays the same.
-- All of it is one statement, so alias and steps are those of one moment. When that statement waits for the row it
-- goes on with the steps as they were before: add_step lets starts go on anyway, and a flow that was deleted and
-- compiled anew meanwhile has another row, hence is resolved once more.
-- Errors: undefined_object (unknown name), object_not_in_prerequisite_state (retired). Callers: _start_runs.
create function pgflow._resolve_flow(name text)
returns pgflow._plan
language plpgsql
set search_path = ''
as $$
declare
  target text;
  tried text;
  plan pgflow._plan;
  retired_at timestamptz;
begin
  loop
    select f.flow_slug, d.steps, d.is_plain, f.retired_at
    into plan.flow_slug, plan.steps, plan.is_plain, retired_at
    from pgflow.flows f
    cross join lateral (
      select coalesce(array_agg(row(s.step_slug, s.step_type, s.deps_count, k.starts, s.queue_name,
                                    coalesce(s.opt_start_delay, 0))::pgflow._plan_step order by s.step_index), '{}') as steps,
             coalesce(bool_and(s.deps_count > 0 or k.starts), true) as is_plain
      from pgflow.steps s
      cross join lateral (
        select s.deps_count = 0 and s.step_type = 'single'
                 and s.required_input_pattern is null and s.forbidden_input_pattern is null as starts
      ) k
      where s.flow_slug = f.flow_slug
    ) d
    where f.flow_slug = coalesce((select a.active_flow_slug from pgflow.flow_aliases a where a.alias = name), name)
    for key share of f;
    if found and retired_at is null then
      return plan;
    end if;

    target := coalesce((select a.active_flow_slug from pgflow.flow_aliases a where a.alias = name), name);
    exit when target is not distinct from tried;
    tried := target;
  end loop;

  if plan.flow_slug is null then
    raise exception 'there is no flow and no alias "%"', name
      using errcode = 'undefined_object',
            hint = 'The table pgflow.flows lists the flows; names are case sensitive.';
  elsif plan.flow_slug = name then
    raise exception 'flow "%" is retired and takes no new runs', name
      using errcode = 'object_not_in_prerequisite_state',
            hint = format('Start its alias or a newer version, or bring it back: select pgflow.unretire_flow(%L)', name);
  end if;
  raise exception 'alias "%" points at flow "%", which is retired and takes no new runs', name, plan.flow_slug
    using errcode = 'object_not_in_prerequisite_state',
          hint = 'Activate another version of the alias (pgflow.activate_flow), or bring this one back (pgflow.unretire_flow).';
end
$$;
$pgflow_file$;
  -- core/30_runs/_run_event.sql
  execute $pgflow_file$-- core/30_runs/_run_event.sql
-- The payload of an event about a run: run:started, run:completed or run:failed by the given status.
-- Without a reason a failed run is told with the error of the step that failed first. Callers: _send_events.
create function pgflow._run_event(run pgflow.runs, status text, reason text)
returns jsonb
language plpgsql
stable
set search_path = ''
as $$
begin
  return jsonb_build_object('run_id', run.run_id, 'flow_slug', run.flow_slug) || case status
    when 'started' then jsonb_build_object(
      'event_type', 'run:started', 'status', 'started', 'input', run.input,
      'remaining_steps', run.remaining_steps, 'started_at', run.started_at)
    when 'completed' then jsonb_build_object(
      'event_type', 'run:completed', 'status', 'completed', 'output', run.output, 'completed_at', run.completed_at)
    else jsonb_build_object(
      'event_type', 'run:failed', 'status', 'failed', 'failed_at', run.failed_at,
      'error_message', coalesce(reason, (
        select st.error_message
        from pgflow.step_states st
        where st.run_id = run.run_id and st.status = 'failed'
        order by st.failed_at, st.step_slug
        limit 1)))
  end;
end
$$;
$pgflow_file$;
  -- core/30_runs/_send_events.sql
  execute $pgflow_file$-- core/30_runs/_send_events.sql
-- Sends what existing clients listen for, in the order of what happened: new runs, changed steps, ended runs. Each
-- event is made from the row as this call leaves it, so a step that opened and completed at once is one event.
--
-- Topic pgflow:run:<run_id>. Events run:started|completed|failed and step:<slug>:started|completed|failed|skipped; the
-- payload's event_type has no slug. A cancelled run is told as failed, with the reason: clients know no other end.
-- Whether realtime.send exists is asked by the callers; the statement that calls it is dynamic for that reason.
-- Events are news, not state: what raises here is a warning and takes no result with it.
-- Locks: none; the caller holds the runs. Callers: _advance, cancel_run.
create function pgflow._send_events(new_runs uuid[], steps pgflow._step_ref[], reason text default null)
returns void
language plpgsql
set search_path = ''
as $$
declare
  names text[];
  run_ids uuid[];
  payloads jsonb[];
begin
  with event as (
    select 1 as phase, n.place, n.run_id, 'run:started' as name, pgflow._run_event(r, 'started', null) as payload
    from unnest(new_runs) with ordinality as n (run_id, place)
    join pgflow.runs r on r.run_id = any (array[n.run_id])
    union all
    select 2, c.place, c.run_id, format('step:%s:%s', st.step_slug, st.status), pgflow._step_event(st)
    from (
      select x.run_id, x.step_slug, min(x.place) as place
      from unnest(steps) with ordinality as x (run_id, flow_slug, step_slug, note, place)
      group by x.run_id, x.step_slug
    ) c
    join pgflow.step_states st on st.run_id = any (array[c.run_id]) and st.step_slug = c.step_slug
    where st.status <> 'created'
    union all
    select 3, 0, r.run_id, case r.status when 'completed' then 'run:completed' else 'run:failed' end,
           pgflow._run_event(r, r.status, reason)
    from pgflow.runs r
    where r.run_id = any (new_runs || array(select x.run_id from unnest(steps) x)) and r.status <> 'started'
  )
  select array_agg(e.name), array_agg(e.run_id), array_agg(e.payload)
  into names, run_ids, payloads
  from (select * from event order by phase, place, run_id) e;

  execute $send$
    select realtime.send(e.payload, e.name, 'pgflow:run:' || e.run_id, false)
    from unnest($1, $2, $3) with ordinality as e (payload, name, run_id, place)
    order by e.place
  $send$ using payloads, names, run_ids;
exception when others then
  raise warning 'pgflow: events were not sent: %', sqlerrm using errcode = sqlstate;
end
$$;
$pgflow_file$;
  -- core/30_runs/_settle_tasks.sql
  execute $pgflow_file$-- core/30_runs/_settle_tasks.sql
-- Ends or requeues the tasks of a batch of results: plain completions in one statement, what is left by its verdict.
-- Gives back the verdicts (none for a task that does not exist), whether there are retries and skipped steps among
-- them, and the messages of the tasks that ended, for the caller to archive.
-- Locks: the tasks by (run, step, index); the caller holds the runs. Callers: _apply_results.
create function pgflow._settle_tasks(
  worker_id uuid, run_ids uuid[], step_slugs text[], task_indexes int[], claim_nos int[],
  results text[], outputs jsonb[], errors text[], retry_afters int[],
  out verdicts pgflow._verdict[],
  out has_retries boolean,
  out has_skips boolean,
  out dead_queues text[],
  out dead_messages bigint[]
)
language plpgsql
set search_path = ''
as $$
declare
  others pgflow._verdict[];
  tally record;
begin
  select c.verdicts, c.queue_names, c.message_ids into verdicts, dead_queues, dead_messages
  from pgflow._complete_tasks(worker_id, run_ids, step_slugs, task_indexes, claim_nos, results, outputs) c;
  if cardinality(verdicts) = cardinality(run_ids) then
    return;
  end if;

  others := pgflow._judge_results(worker_id, run_ids, step_slugs, task_indexes, claim_nos, results, outputs, errors,
                                  retry_afters, array(select v.item from unnest(verdicts) v));
  select bool_or(v.verdict = 'retry') as retries,
         bool_or(v.verdict in ('skip', 'skip-cascade')) as skips,
         bool_or(v.verdict not in ('again', 'late')) as effects,
         array_agg(v.queue_name) filter (where v.verdict not in ('again', 'late', 'retry')) as queue_names,
         array_agg(v.message_id) filter (where v.verdict not in ('again', 'late', 'retry')) as message_ids
  into tally
  from unnest(others) v;
  if tally.effects then
    perform pgflow._record_results(others);
  end if;
  verdicts := verdicts || others;
  has_retries := tally.retries;
  has_skips := tally.skips;
  dead_queues := dead_queues || tally.queue_names;
  dead_messages := dead_messages || tally.message_ids;
end
$$;
$pgflow_file$;
  -- core/30_runs/_skip_downstream.sql
  execute $pgflow_file$-- core/30_runs/_skip_downstream.sql
-- Skips whatever depends, directly or not, on the finished steps that take their downstream with them (note
-- 'cascade'). Runs that fail in the same call are left as they are. Returns the skipped steps.
-- Locks: the caller holds the runs. Callers: _advance.
create function pgflow._skip_downstream(finished pgflow._step_ref[], failed pgflow._step_ref[])
returns pgflow._step_ref[]
language plpgsql
set search_path = ''
as $$
declare
  fallen pgflow._step_ref[];
begin
  if not exists (select from unnest(finished) f where f.note = 'cascade') then
    return '{}';
  end if;

  with recursive downstream as (
    select f.run_id, d.flow_slug, d.step_slug
    from unnest(finished) f
    join pgflow.deps d on d.flow_slug = any (array[f.flow_slug]) and d.dep_slug = f.step_slug
    where f.note = 'cascade' and f.run_id <> all (array(select x.run_id from unnest(failed) x))
    union
    select up.run_id, d.flow_slug, d.step_slug
    from downstream up
    join pgflow.deps d on d.flow_slug = any (array[up.flow_slug]) and d.dep_slug = up.step_slug
  ), skipped as (
    update pgflow.step_states st
    set status = 'skipped',
        skip_reason = 'dependency_skipped',
        skipped_at = greatest(clock_timestamp(), st.created_at)
    from downstream d
    where st.run_id = any (array[d.run_id]) and st.step_slug = d.step_slug and st.status = 'created'
    returning st.run_id, st.flow_slug, st.step_slug
  )
  select array_agg(row(s.run_id, s.flow_slug, s.step_slug, null)::pgflow._step_ref) into fallen from skipped s;
  return coalesce(fallen, '{}');
end
$$;
$pgflow_file$;
  -- core/30_runs/_start_runs.sql
  execute $pgflow_file$-- core/30_runs/_start_runs.sql
-- Starts one run per input, all of the same flow, under the given ids. The work of every start_flow* function.
--
-- The definition is read once: a step that is being added meanwhile is in runs and states, or in neither. Plain root
-- steps (single, no condition) are inserted as started. A single run of a flow that has no others needs nothing but
-- their tasks; the rest is for _advance.
-- Locks: the flow's row for key share. Errors: those of _resolve_flow; unknown input; a root map without an array.
create function pgflow._start_runs(name text, run_ids uuid[], inputs jsonb[])
returns void
language plpgsql
set search_path = ''
as $$
declare
  plan pgflow._plan := pgflow._resolve_flow(name);
  steps int := cardinality(plan.steps);
  moment timestamptz := clock_timestamp();
  woken text[];
begin
  if not plan.is_plain or array_position(inputs, null) is not null then
    perform pgflow._check_inputs(plan, inputs);
  end if;

  insert into pgflow.runs (run_id, flow_slug, status, input, output, remaining_steps, started_at, completed_at)
  select r.run_id, plan.flow_slug, case when steps = 0 then 'completed' else 'started' end, r.input,
         case when steps = 0 then '{}'::jsonb end, steps, moment, case when steps = 0 then moment end
  from unnest(run_ids, inputs) as r (run_id, input);

  insert into pgflow.step_states
    (flow_slug, run_id, step_slug, status, initial_tasks, remaining_tasks, remaining_deps, created_at, started_at)
  select plan.flow_slug, r.run_id, s.step_slug, case when s.starts then 'started' else 'created' end,
         case when s.step_type = 'single' then 1 end, case when s.starts then 1 end, s.deps_count,
         moment, case when s.starts then moment end
  from unnest(run_ids) as r (run_id)
  cross join unnest(plan.steps) s;

  -- Where the schema realtime is, somebody may be told of it: see _advance.
  if cardinality(run_ids) = 1 and plan.is_plain and steps > 0 and to_regnamespace('realtime') is null then
    woken := pgflow._create_first_tasks(run_ids[1], plan);
  else
    woken := pgflow._advance_new_runs(run_ids, plan);
  end if;
  if cardinality(woken) > 0 then
    perform pgflow._notify(woken);
  end if;
end
$$;
$pgflow_file$;
  -- core/30_runs/_step_event.sql
  execute $pgflow_file$-- core/30_runs/_step_event.sql
-- The payload of an event about a step, by its status. Callers: _send_events.
create function pgflow._step_event(step pgflow.step_states)
returns jsonb
language plpgsql
immutable
set search_path = ''
as $$
begin
  return jsonb_build_object(
    'event_type', 'step:' || step.status, 'run_id', step.run_id, 'flow_slug', step.flow_slug,
    'step_slug', step.step_slug, 'status', step.status
  ) || case step.status
    when 'started' then jsonb_build_object(
      'started_at', step.started_at, 'remaining_tasks', step.remaining_tasks, 'remaining_deps', step.remaining_deps)
    when 'completed' then jsonb_build_object('output', step.output, 'completed_at', step.completed_at)
    when 'failed' then jsonb_build_object('error_message', step.error_message, 'failed_at', step.failed_at)
    else jsonb_build_object(
      'skip_reason', step.skip_reason, 'error_message', step.error_message, 'skipped_at', step.skipped_at)
  end;
end
$$;
$pgflow_file$;
  -- core/30_runs/_unmet_condition.sql
  execute $pgflow_file$-- core/30_runs/_unmet_condition.sql
-- Which condition of a step that has become ready does not hold: 'required_input_pattern', 'forbidden_input_pattern'
-- or null. Called for steps that have one.
--
-- The input of a root step is the run's. That of a dependent step is the object {dependency: output} of its completed
-- dependencies; it is tested key by key and never built, because an object of large outputs may not fit jsonb: an
-- object contains another when it contains each of its keys, and two values of one JSON type contain each other
-- inside an object exactly as they do by themselves.
-- Locks: none; the caller holds the run. Callers: _open_steps.
create function pgflow._unmet_condition(run_id uuid, step pgflow.steps)
returns text
language plpgsql
stable
set search_path = ''
as $$
declare
  unmet text;
begin
  select p.name into unmet
  from (values ('required_input_pattern', true, step.required_input_pattern),
               ('forbidden_input_pattern', false, step.forbidden_input_pattern)) as p (name, wanted, pattern)
  where p.pattern is not null
    and p.wanted <> case
      when step.deps_count = 0 then (
        select r.input @> p.pattern from pgflow.runs r where r.run_id = _unmet_condition.run_id)
      else (select count(*) from jsonb_object_keys(p.pattern)) = (
        select count(*)
        from jsonb_each(p.pattern) k
        join pgflow.deps d
          on d.flow_slug = step.flow_slug and d.step_slug = step.step_slug and d.dep_slug = k.key
        join pgflow.step_states ds on ds.run_id = _unmet_condition.run_id and ds.step_slug = d.dep_slug
        where ds.status = 'completed' and jsonb_typeof(ds.output) = jsonb_typeof(k.value)
          and ds.output @> k.value)
      end
  order by p.wanted desc
  limit 1;
  return unmet;
end
$$;
$pgflow_file$;
  -- core/30_runs/calculate_retry_delay.sql
  execute $pgflow_file$-- core/30_runs/calculate_retry_delay.sql
-- Seconds until the next attempt after attempts_count of them: base_delay doubled each time, at most a day.
-- Callers: _judge_results; existing clients know it by this name.
create function pgflow.calculate_retry_delay(base_delay numeric, attempts_count int)
returns int
language plpgsql
immutable
parallel safe
set search_path = ''
as $$
begin
  -- The exponent is bounded so that double precision cannot overflow before the day caps it.
  return floor(least(86400, base_delay::float8 * power(2::float8, least(greatest(attempts_count, 0), 900))))::int;
end
$$;
$pgflow_file$;
  -- core/30_runs/cancel_run.sql
  execute $pgflow_file$-- core/30_runs/cancel_run.sql
-- Cancels a run: its started steps fail with '[CANCELLED] reason', its live tasks are cancelled, their messages
-- archived. A handler at work is told at its host's next heartbeat; what it reports later changes nothing.
-- Returns the run; one that has ended already is returned unchanged.
-- Locks: run, tasks by (step, index), messages. Errors: undefined_object. Callers: operators.
create function pgflow.cancel_run(run_id uuid, reason text default null)
returns pgflow.runs
language plpgsql
security definer
set search_path = ''
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
as $$
declare
  run pgflow.runs;
  error text := concat_ws(' ', '[CANCELLED]', nullif(reason, ''));
  stopped pgflow._step_ref[];
  tasks record;
begin
  select r.* into run from pgflow.runs r where r.run_id = cancel_run.run_id for no key update;
  if not found then
    raise exception 'there is no run %', run_id
      using errcode = 'undefined_object', hint = 'It may have been pruned or deleted with its flow.';
  elsif run.status <> 'started' then
    return run;
  end if;

  update pgflow.runs r
  set status = 'cancelled',
      failed_at = greatest(clock_timestamp(), r.started_at)
  where r.run_id = cancel_run.run_id
  returning r.* into run;

  with step as (
    update pgflow.step_states st
    set status = 'failed',
        error_message = error,
        failed_at = greatest(clock_timestamp(), st.started_at)
    where st.run_id = cancel_run.run_id and st.status = 'started'
    returning st.flow_slug, st.step_slug
  )
  select array_agg(row(run.run_id, s.flow_slug, s.step_slug, error)::pgflow._step_ref) into stopped from step s;

  select c.queue_names, c.message_ids into tasks from pgflow._end_tasks(stopped, 'cancelled') c;
  perform pgflow._archive(tasks.queue_names, tasks.message_ids);
  if to_regprocedure('realtime.send(jsonb,text,text,boolean)') is not null then
    -- The reference without a step is for the event of the run.
    perform pgflow._send_events(
      '{}', stopped || row(run.run_id, run.flow_slug, null, error)::pgflow._step_ref, error);
  end if;
  return run;
end
$$;
$pgflow_file$;
  -- core/30_runs/complete_task.sql
  execute $pgflow_file$-- core/30_runs/complete_task.sql
-- Completes the started attempt of a task; the old form, for workers that carry no fence. Returns the task's row as it
-- is afterwards. Late callbacks, and attempts of workers that do carry a fence (claimed_exact), change nothing.
-- Locks: run, task, message. Callers: existing workers.
create function pgflow.complete_task(run_id uuid, step_slug text, task_index int, output jsonb)
returns setof pgflow.step_tasks
language plpgsql
security definer
set search_path = ''
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
as $$
begin
  perform pgflow._apply_results(null, array[run_id], array[step_slug], array[task_index], null,
                                array['completed'], array[coalesce(output, 'null')], null, null);
  return query
    select t.*
    from pgflow.step_tasks t
    where t.run_id = complete_task.run_id and t.step_slug = complete_task.step_slug
      and t.task_index = complete_task.task_index;
end
$$;
$pgflow_file$;
  -- core/30_runs/fail_task.sql
  execute $pgflow_file$-- core/30_runs/fail_task.sql
-- Fails the started attempt of a task; the old form, for workers that carry no fence. Tries again while attempts are
-- left, after retry_after seconds (0 to a day) or the step's backoff; then when_exhausted decides. permanent skips
-- the retries. Returns the task's row as it is afterwards. Late callbacks, and attempts of workers that do carry a
-- fence (claimed_exact), change nothing.
-- Locks: run, task, message. Callers: existing workers.
create function pgflow.fail_task(
  run_id uuid,
  step_slug text,
  task_index int,
  error_message text,
  permanent boolean default false,
  retry_after int default null
)
returns setof pgflow.step_tasks
language plpgsql
security definer
set search_path = ''
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
as $$
begin
  perform pgflow._apply_results(null, array[run_id], array[step_slug], array[task_index], null,
                                array[case when permanent then 'permanent' else 'failed' end],
                                null, array[error_message], array[retry_after]);
  return query
    select t.*
    from pgflow.step_tasks t
    where t.run_id = fail_task.run_id and t.step_slug = fail_task.step_slug
      and t.task_index = fail_task.task_index;
end
$$;
$pgflow_file$;
  -- core/30_runs/finish_tasks.sql
  execute $pgflow_file$-- core/30_runs/finish_tasks.sql
-- Reports a batch of results over any mix of runs and flows; what hosts call. Arrays are parallel.
--
-- results       completed | failed (tried again while attempts are left) | permanent
-- outputs       JSON text of completed items; null is the JSON null
-- errors        text of the others
-- retry_afters  seconds until the next attempt, 0 to a day, instead of the step's backoff
-- Per item, by its place from 1: outcome
--   completed   recorded
--   retrying    failed; queued again (detail: the error)
--   failed      failed for good, and with it the run (detail: the error)
--   skipped     failed for good; its step was skipped (detail: the error)
--   refused     the output is not storable; counted as a failed attempt (detail: the reason)
--   again       this very claim's result was recorded before, or its task ended without it (detail: its status)
--   late        the claim is no longer this worker's (detail: the task's status)
--   gone        no such task
-- new_work: this call made a message visible now on the worker's queue; the same in every row.
-- Never an exception for one item. Errors: invalid_parameter_value, for arguments that are malformed as a whole.
-- A lock that is not to be had within 2 s fails the call (lock_not_available): the host sends the others without that
-- run. Waiting for it would hold up everything behind it on the connection.
-- Locks: runs by id, tasks by (run, step, index), then messages. Callers: hosts.
create function pgflow.finish_tasks(
  worker_id uuid,
  run_ids uuid[],
  step_slugs text[],
  task_indexes int[],
  claim_nos int[],
  results text[],
  outputs text[],
  errors text[],
  retry_afters int[] default null
)
returns table (item int, outcome text, detail text, new_work boolean)
language plpgsql
security definer
set search_path = ''
set lock_timeout = '2s'
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
as $$
declare
  given record;
  done record;
  wakes_own_queue boolean := false;
begin
  perform pgflow._check_results(worker_id, run_ids, step_slugs, task_indexes, claim_nos, results, outputs, errors,
                                retry_afters);
  select c.results, c.parsed, c.errors into given from pgflow._cast_outputs(results, outputs, errors) c;
  select a.verdicts, a.woken into done
  from pgflow._apply_results(worker_id, run_ids, step_slugs, task_indexes, claim_nos, given.results, given.parsed,
                             given.errors, retry_afters) a;

  if cardinality(done.woken) > 0 then
    wakes_own_queue := exists (
      select from pgflow.workers w
      where w.worker_id = finish_tasks.worker_id and lower(w.queue_name) = any (done.woken));
  end if;
  return query
    select v.item,
           case when v.result = 'refused' and v.verdict not in ('again', 'late') then 'refused'
                else case v.verdict when 'retry' then 'retrying' when 'fail' then 'failed' when 'violated' then 'failed'
                                    when 'skip' then 'skipped' when 'skip-cascade' then 'skipped' else v.verdict end
           end,
           v.error, wakes_own_queue
    from unnest(done.verdicts) v;
  if cardinality(done.verdicts) < cardinality(run_ids) then
    return query
      select i.item, 'gone', 'there is no such task', wakes_own_queue
      from generate_series(1, cardinality(run_ids)) as i (item)
      where i.item <> all (array(select v.item from unnest(done.verdicts) v));
  end if;
end
$$;
$pgflow_file$;
  -- core/30_runs/get_run_with_states.sql
  execute $pgflow_file$-- core/30_runs/get_run_with_states.sql
-- A run and its step states as {run, steps}, the steps in the order of the definition; null when there is none.
-- The run id is the secret: whoever knows it may read the run. Locks: none. Callers: clients.
create function pgflow.get_run_with_states(run_id uuid)
returns jsonb
language plpgsql
stable
security definer
set search_path = ''
as $$
begin
  return (
    select jsonb_build_object(
      'run', to_jsonb(r),
      'steps', coalesce((
        select jsonb_agg(to_jsonb(st) order by s.step_index, st.step_slug)
        from pgflow.step_states st
        left join pgflow.steps s on s.flow_slug = st.flow_slug and s.step_slug = st.step_slug
        where st.run_id = r.run_id), '[]'))
    from pgflow.runs r
    where r.run_id = get_run_with_states.run_id
  );
end
$$;
$pgflow_file$;
  -- core/30_runs/start_flow.sql
  execute $pgflow_file$-- core/30_runs/start_flow.sql
-- Starts a run of a flow, named by alias or concrete slug, and returns it: run, step states, conditions and maps of
-- the ready steps, tasks and messages, all in this transaction. A run with nothing to do comes back completed.
-- run_id: the caller's own id, for starts that must not happen twice; it is an error when that run exists.
-- Locks: the flow's row for key share. Errors: unknown or retired flow, null input, a root map without an array,
-- unique_violation for a repeated run_id. Callers: clients.
create function pgflow.start_flow(flow_slug text, input jsonb, run_id uuid default null)
returns setof pgflow.runs
language plpgsql
security definer
set search_path = ''
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
as $$
declare
  new_id uuid := coalesce(run_id, pgflow._new_run_id());
begin
  if run_id is not null and exists (select from pgflow.runs r where r.run_id = start_flow.run_id) then
    raise exception 'run % exists already', run_id
      using errcode = 'unique_violation', hint = 'Give another run_id, or none to have one made.';
  end if;

  perform pgflow._start_runs(flow_slug, array[new_id], array[input]);
  return query select r.* from pgflow.runs r where r.run_id = new_id;
end
$$;
$pgflow_file$;
  -- core/30_runs/start_flow_with_states.sql
  execute $pgflow_file$-- core/30_runs/start_flow_with_states.sql
-- start_flow for clients that want the run and its step states at once: {run, steps}, as get_run_with_states.
-- Locks, errors: as start_flow. Callers: clients.
create function pgflow.start_flow_with_states(flow_slug text, input jsonb, run_id uuid default null)
returns jsonb
language plpgsql
security definer
set search_path = ''
as $$
declare
  started uuid := (select r.run_id from pgflow.start_flow(flow_slug, input, run_id) r);
begin
  return pgflow.get_run_with_states(started);
end
$$;
$pgflow_file$;
  -- core/30_runs/start_flows.sql
  execute $pgflow_file$-- core/30_runs/start_flows.sql
-- Starts one run of a flow per input, all or none, and returns their ids in the order of the inputs. The alias is
-- resolved once, so all of them are runs of one concrete flow.
-- Locks: the flow's row for key share. Errors: as start_flow; the number of the bad input is named.
-- Callers: clients.
create function pgflow.start_flows(flow_slug text, inputs jsonb[])
returns setof uuid
language plpgsql
security definer
set search_path = ''
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
as $$
declare
  run_ids uuid[] := array(select pgflow._new_run_id() from unnest(inputs));
begin
  perform pgflow._start_runs(flow_slug, run_ids, coalesce(inputs, '{}'));
  return query select r.run_id from unnest(run_ids) with ordinality as r (run_id, place) order by r.place;
end
$$;
$pgflow_file$;
  -- core/40_workers/00_table_worker_functions.sql
  execute $pgflow_file$-- core/40_workers/00_table_worker_functions.sql
-- The deployed worker functions: what may start workers. enabled alone decides;
-- paused_at and pause_reason say that the guard disabled it, and why:
-- {queue, messageIds, pairs, workerId, info}. start_mode 'http': ensure_workers()
-- pings it; 'process': its hosts are started by their own supervisor.
create table pgflow.worker_functions (
  function_name text primary key check (function_name <> ''),
  enabled boolean not null default true,
  debounce interval not null default '6 seconds' check (debounce >= '0 seconds'),
  last_invoked_at timestamptz,
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp(),
  start_mode text not null default 'http' check (start_mode in ('http', 'process')),
  paused_at timestamptz,
  pause_reason jsonb
);
$pgflow_file$;
  -- core/40_workers/01_table_workers.sql
  execute $pgflow_file$-- core/40_workers/01_table_workers.sql
-- One row a worker process and registration. queue_name is the one queue that
-- it polls, compared by lower(). info = {host, pid, version, modules: [{flow,
-- file, buildId, sha256}]}. standby: alive, claims nothing, has no pairs.
create table pgflow.workers (
  worker_id uuid primary key,
  queue_name text not null,
  function_name text not null,
  started_at timestamptz not null default clock_timestamp(),
  deprecated_at timestamptz,
  stopped_at timestamptz,
  last_heartbeat_at timestamptz not null default clock_timestamp(),
  standby boolean not null default false,
  info jsonb not null default '{}'
);

create index workers_queue_idx on pgflow.workers (lower(queue_name)) where stopped_at is null;
create index workers_function_idx on pgflow.workers (function_name) where stopped_at is null;
create index workers_heartbeat_idx on pgflow.workers (last_heartbeat_at);
$pgflow_file$;
  -- core/40_workers/02_table_worker_task_pairs.sql
  execute $pgflow_file$-- core/40_workers/02_table_worker_task_pairs.sql
-- The exact pairs that a worker registered for its queue. held: the host cannot
-- run it just now (last heartbeat's word); a switch counts it as missing.
-- No foreign key to steps: deleting a flow must not wait for its workers.
create table pgflow.worker_task_pairs (
  worker_id uuid not null references pgflow.workers (worker_id) on delete cascade,
  flow_slug text not null,
  step_slug text not null,
  held boolean not null default false,
  primary key (worker_id, flow_slug, step_slug)
);

create index worker_task_pairs_pair_idx on pgflow.worker_task_pairs (flow_slug, step_slug);
$pgflow_file$;
  -- core/40_workers/_check_functions_exist.sql
  execute $pgflow_file$-- core/40_workers/_check_functions_exist.sql
-- Refuses names without a row in worker_functions: a fence with a typing error in
-- it fences nothing. Callers: the operators' functions. Locks: none. Errors: 42704.
create function pgflow._check_functions_exist(function_names text[])
returns void
language plpgsql
set search_path = ''
as $$
declare
  missing text := (
    select string_agg(format('"%s"', n), ', ' order by n)
    from (select distinct n from unnest(function_names) n) given(n)
    where not exists (select from pgflow.worker_functions f where f.function_name = n));
begin
  if missing is not null then
    raise exception 'no such worker function: %', missing
      using errcode = 'undefined_object',
            hint = 'See pgflow.worker_functions; pgflow.insert_worker_function(name) adds one, disabled.';
  end if;
end
$$;
$pgflow_file$;
  -- core/40_workers/_functions_endpoint.sql
  execute $pgflow_file$-- core/40_workers/_functions_endpoint.sql
-- Where worker functions are invoked, and with which key; nulls when unknown.
--
-- The settings pgflow.functions_url and pgflow.functions_key, both or none.
-- Otherwise the local stack's gateway when is_local(), or the project's address, and
-- the key, from vault.decrypted_secrets (supabase_project_id,
-- supabase_service_role_key) where that exists. Never the one from there and the
-- other from here: any session may set an address, and the vault's key must not be
-- sent to it.
-- Caller: ensure_workers. Locks: none.
create function pgflow._functions_endpoint(out url text, out key text)
language plpgsql
set search_path = ''
as $$
declare
  project text;
begin
  url := nullif(current_setting('pgflow.functions_url', true), '');
  key := nullif(current_setting('pgflow.functions_key', true), '');
  if url is not null or key is not null then
    return;
  end if;

  if to_regclass('vault.decrypted_secrets') is not null then
    execute 'select
        max(s.decrypted_secret) filter (where s.name = ''supabase_project_id''),
        max(s.decrypted_secret) filter (where s.name = ''supabase_service_role_key'')
      from vault.decrypted_secrets s'
    into project, key;
  end if;
  url := case when pgflow.is_local() then 'http://kong:8000/functions/v1'
              else 'https://' || project || '.supabase.co/functions/v1' end;
end
$$;
$pgflow_file$;
  -- core/40_workers/_is_gone.sql
  execute $pgflow_file$-- core/40_workers/_is_gone.sql
-- The one definition of a worker that is gone: stopped, or silent for 30 seconds.
-- Neither live nor gone: deprecated or silent since a short while.
-- Callers: the rollout's waits, maintain().
create function pgflow._is_gone(w pgflow.workers)
returns boolean
language sql
set search_path = ''
as $$
  select w.stopped_at is not null
      or w.last_heartbeat_at <= clock_timestamp() - interval '30 seconds'
$$;
$pgflow_file$;
  -- core/40_workers/_is_live.sql
  execute $pgflow_file$-- core/40_workers/_is_live.sql
-- The one definition of a live worker: not stopped, not deprecated, heartbeat
-- younger than 15 seconds. Working or standing by is another question (standby).
-- Callers: registration, switches, coverage, drain, workers_missing.
create function pgflow._is_live(w pgflow.workers)
returns boolean
language sql
set search_path = ''
as $$
  select w.stopped_at is null
     and w.deprecated_at is null
     and w.last_heartbeat_at > clock_timestamp() - interval '15 seconds'
$$;
$pgflow_file$;
  -- core/40_workers/_lock_predecessor.sql
  execute $pgflow_file$-- core/40_workers/_lock_predecessor.sql
-- Locks the earlier row of a process that registers anew; false when that row is
-- deprecated or missing, so that the process is superseded: a fence that was
-- used while it was away counts for its next registration too.
-- Caller: register_worker. Locks: the worker row.
create function pgflow._lock_predecessor(predecessor uuid)
returns boolean
language plpgsql
set search_path = ''
as $$
begin
  perform from pgflow.workers w where w.worker_id = predecessor for no key update;
  return exists (
    select from pgflow.workers w where w.worker_id = predecessor and w.deprecated_at is null);
end
$$;
$pgflow_file$;
  -- core/40_workers/_must_stop.sql
  execute $pgflow_file$-- core/40_workers/_must_stop.sql
-- Must this worker stop because its function is disabled? An operator's disable
-- (paused_at null) stops every worker of the function. The guard's pause stops a
-- running worker only when it lacks a pair that the pause names, so that one
-- forgotten old host cannot stop the good ones. A function without a row: no.
-- Callers: heartbeat, the claim's fence. Locks: none.
create function pgflow._must_stop(worker_id uuid, function_name text)
returns boolean
language plpgsql
set search_path = ''
as $$
declare
  f record;
begin
  select wf.enabled, wf.paused_at, wf.pause_reason into f
  from pgflow.worker_functions wf
  where wf.function_name = $2;
  if not found or f.enabled then
    return false;
  elsif f.paused_at is null then
    return true;
  end if;

  return exists (
    select
    from jsonb_to_recordset(coalesce(f.pause_reason -> 'pairs', '[]'))
           as missing("flowSlug" text, "stepSlug" text)
    where not exists (
      select
      from pgflow.worker_task_pairs p
      where p.worker_id = $1
        and p.flow_slug = missing."flowSlug"
        and p.step_slug = missing."stepSlug"
    )
  );
end
$$;
$pgflow_file$;
  -- core/40_workers/_registration_refusal.sql
  execute $pgflow_file$-- core/40_workers/_registration_refusal.sql
-- Why a working worker of this function may not register for this queue: disabled
-- | other_queue; null: it may. Takes the function row's lock first, so that what
-- it sees stays true until the registration commits.
-- Caller: register_worker. Locks: the function row.
create function pgflow._registration_refusal(
  worker_id uuid, queue_name text, function_name text, predecessor uuid)
returns text
language plpgsql
set search_path = ''
as $$
declare
  enabled boolean;
begin
  select f.enabled into enabled
  from pgflow.worker_functions f
  where f.function_name = $3
  for no key update;
  if not enabled then
    return 'disabled';
  end if;

  if exists (
    select
    from pgflow.workers w
    where w.function_name = $3
      and w.stopped_at is null
      and not w.standby
      and lower(w.queue_name) <> lower($2)
      and w.worker_id <> $1
      and w.worker_id is distinct from $4
      and pgflow._is_live(w)
  ) then
    return 'other_queue';
  end if;
  return null;
end
$$;
$pgflow_file$;
  -- core/40_workers/_schedule_job.sql
  execute $pgflow_file$-- core/40_workers/_schedule_job.sql
-- Schedules a named pg_cron job, replacing one of that name; false, with a
-- notice, where pg_cron is missing. Callers: the setup_..._cron functions.
create function pgflow._schedule_job(job_name text, schedule text, command text)
returns boolean
language plpgsql
set search_path = ''
as $$
begin
  if to_regclass('cron.job') is null then
    raise notice 'pg_cron is not installed: % was not scheduled', job_name
      using hint = 'create extension pg_cron, or run this every ' || schedule || ': ' || command;
    return false;
  end if;
  execute 'select cron.unschedule(j.jobid) from cron.job j where j.jobname = $1' using job_name;
  execute 'select cron.schedule($1, $2, $3)' using job_name, schedule, command;
  return true;
end
$$;
$pgflow_file$;
  -- core/40_workers/_set_pairs.sql
  execute $pgflow_file$-- core/40_workers/_set_pairs.sql
-- Replaces the pairs of a worker whose row the caller has locked or just made.
-- Caller: register_worker. Locks: the worker's own pairs.
create function pgflow._set_pairs(
  worker_id uuid, supported pgflow.task_pair[], held pgflow.task_pair[])
returns void
language sql
set search_path = ''
as $$
  delete from pgflow.worker_task_pairs p where p.worker_id = $1;

  insert into pgflow.worker_task_pairs (worker_id, flow_slug, step_slug, held)
  select distinct $1, s.flow_slug, s.step_slug, exists (
    select from unnest($3) h where h.flow_slug = s.flow_slug and h.step_slug = s.step_slug)
  from unnest($2) s
$$;
$pgflow_file$;
  -- core/40_workers/cleanup_ensure_workers_logs.sql
  execute $pgflow_file$-- core/40_workers/cleanup_ensure_workers_logs.sql
-- Deletes pg_cron's log rows of ensure_workers() that are older than
-- retention_hours. One row: how many. Zero, with a notice, without pg_cron.
-- Callers: cron, hourly.
create function pgflow.cleanup_ensure_workers_logs(retention_hours int default 24)
returns table (cron_deleted bigint)
language plpgsql
security definer
set search_path = ''
as $$
begin
  cron_deleted := 0;
  if to_regclass('cron.job_run_details') is null then
    raise notice 'pg_cron is not installed: there is no log to clean up';
  else
    execute 'delete from cron.job_run_details d
      where d.jobid in (select j.jobid from cron.job j where j.jobname = ''pgflow_ensure_workers'')
        and d.end_time < clock_timestamp() - make_interval(hours => $1)'
    using retention_hours;
    get diagnostics cron_deleted = row_count;
  end if;
  return next;
end
$$;
$pgflow_file$;
  -- core/40_workers/deprecate_workers.sql
  execute $pgflow_file$-- core/40_workers/deprecate_workers.sql
-- For operators: deprecates every row of these functions that is not stopped,
-- live or silent, working or standing by. They finish what they hold and end;
-- none of them claims anything after this commits, however late it wakes up.
-- Returns how many rows were deprecated. Disable the functions first, in a
-- transaction of its own: otherwise a supervisor brings old code back.
-- Locks: an advisory lock, then the worker rows, by id; waits for claims that hold them.
-- Errors: 42704, a name with neither a function row nor a worker row.
create function pgflow.deprecate_workers(function_names text[])
returns int
language plpgsql
security definer
set search_path = ''
as $$
declare
  deprecated int := 0;
  round int;
begin
  perform pgflow._check_functions_exist(array(
    select n from unnest(function_names) n
    where not exists (select from pgflow.workers w where w.function_name = n)));
  -- A process that registers anew holds its earlier row, which this waits for. The new row is not
  -- in the snapshot of the statement that waited, so look again until nothing is found; a
  -- registration that comes later is superseded. The new row's id may be below those that are held: two
  -- deprecations at once would meet in opposite order, hence one at a time.
  perform pg_advisory_xact_lock(-1885826167, 2);
  loop
    with locked as (
      select w.worker_id
      from pgflow.workers w
      where w.function_name = any ($1) and w.stopped_at is null and w.deprecated_at is null
      order by w.worker_id
      for no key update
    )
    update pgflow.workers w
    set deprecated_at = greatest(clock_timestamp(), w.started_at)
    from locked
    where w.worker_id = locked.worker_id;
    get diagnostics round = row_count;
    deprecated := deprecated + round;
    exit when round = 0 and not exists (
      select from pgflow.workers w
      where w.function_name = any ($1) and w.stopped_at is null and w.deprecated_at is null);
  end loop;
  return deprecated;
end
$$;
$pgflow_file$;
  -- core/40_workers/disable_worker_functions.sql
  execute $pgflow_file$-- core/40_workers/disable_worker_functions.sql
-- For operators: disables functions, all or none. Whatever the guard wrote is
-- cleared: from then on the disable is the operator's, and running workers of
-- these functions stop too. Returns how many functions were named.
-- Deprecate in a transaction of its own, afterwards.
-- Locks: the function rows, by name. Errors: 42704, an unknown name.
create function pgflow.disable_worker_functions(names text[])
returns int
language plpgsql
security definer
set search_path = ''
as $$
declare
  disabled int;
begin
  perform pgflow._check_functions_exist(names);
  with locked as (
    select f.function_name
    from pgflow.worker_functions f
    where f.function_name = any (names)
    order by f.function_name
    for no key update
  )
  update pgflow.worker_functions f
  set enabled = false, paused_at = null, pause_reason = null,
      updated_at = greatest(clock_timestamp(), f.updated_at)
  from locked
  where f.function_name = locked.function_name;
  get diagnostics disabled = row_count;
  return disabled;
end
$$;
$pgflow_file$;
  -- core/40_workers/enable_worker_function.sql
  execute $pgflow_file$-- core/40_workers/enable_worker_function.sql
-- For operators: enables a function and clears the guard's pause. Hosts that
-- stand by notice it and start; ensure_workers() pings an http one.
-- Locks: the function row. Errors: 42704, an unknown name.
create function pgflow.enable_worker_function(name text)
returns void
language plpgsql
security definer
set search_path = ''
as $$
begin
  perform pgflow._check_functions_exist(array[name]);
  update pgflow.worker_functions f
  set enabled = true, paused_at = null, pause_reason = null,
      updated_at = greatest(clock_timestamp(), f.updated_at)
  where f.function_name = $1;
end
$$;
$pgflow_file$;
  -- core/40_workers/ensure_workers.sql
  execute $pgflow_file$-- core/40_workers/ensure_workers.sql
-- Pings the http functions that should have a worker and have none: enabled, past
-- their debounce, without a live worker. One row each: invoked says whether a
-- request was sent. It is sent by pg_net (net.http_post) where that is installed
-- and the endpoint is known; without, nothing is sent and the debounce stays.
-- process functions are never pinged: their supervisor starts them.
-- Callers: cron, every second. Locks: the function rows it pings, by skip locked,
-- so that two at once ping once.
create function pgflow.ensure_workers()
returns table (function_name text, invoked boolean, request_id bigint)
language plpgsql
security definer
set search_path = ''
as $$
declare
  endpoint record;
  can_send boolean;
begin
  select e.url, e.key into endpoint from pgflow._functions_endpoint() e;
  can_send := endpoint.url is not null and endpoint.key is not null
    and exists (
      select from pg_catalog.pg_proc p
      where p.pronamespace = to_regnamespace('net') and p.proname = 'http_post');

  for function_name in
    select f.function_name
    from pgflow.worker_functions f
    where f.enabled
      and f.start_mode = 'http'
      and (f.last_invoked_at is null or f.last_invoked_at <= clock_timestamp() - f.debounce)
      and not exists (
        select from pgflow.workers w
        where w.function_name = f.function_name and pgflow._is_live(w))
    order by f.function_name
    for no key update skip locked
  loop
    invoked := can_send;
    request_id := null;
    if can_send then
      execute 'select net.http_post(url => $1, headers => $2, body => $3)'
      using endpoint.url || '/' || function_name,
            jsonb_build_object('Authorization', 'Bearer ' || endpoint.key, 'apikey', endpoint.key,
                               'Content-Type', 'application/json'),
            '{}'::jsonb
      into request_id;
      update pgflow.worker_functions f
      set last_invoked_at = clock_timestamp()
      where f.function_name = ensure_workers.function_name;
    end if;
    return next;
  end loop;
end
$$;
$pgflow_file$;
  -- core/40_workers/heartbeat.sql
  execute $pgflow_file$-- core/40_workers/heartbeat.sql
-- A worker's sign of life, and what the database has to tell it.
--
-- in_flight  runs whose tasks it works on     held  pairs it cannot run just now
-- is_deprecated  finish and end; also when the row is missing
-- must_stop      its function is disabled for it (see _must_stop)
-- ended_runs     those of in_flight that are no longer started, or gone
-- Locks: the worker's row; the pairs whose held changes.
create function pgflow.heartbeat(
  worker_id uuid, in_flight uuid[] default '{}', held pgflow.task_pair[] default '{}',
  out is_deprecated boolean, out must_stop boolean, out ended_runs uuid[])
language plpgsql
security definer
set search_path = ''
as $$
declare
  own_function text;
begin
  update pgflow.workers w
  set last_heartbeat_at = greatest(clock_timestamp(), w.last_heartbeat_at)
  where w.worker_id = $1
  returning w.deprecated_at is not null, w.function_name into is_deprecated, own_function;
  is_deprecated := coalesce(is_deprecated, true);
  must_stop := pgflow._must_stop(worker_id, own_function);

  update pgflow.worker_task_pairs p
  set held = not p.held
  where p.worker_id = $1
    and p.held <> exists (
      select from unnest($3) h where h.flow_slug = p.flow_slug and h.step_slug = p.step_slug);

  ended_runs := array(
    select distinct f.run_id
    from unnest(in_flight) f(run_id)
    where not exists (
      select from pgflow.runs r where r.run_id = f.run_id and r.status = 'started'));
end
$$;
$pgflow_file$;
  -- core/40_workers/insert_worker_function.sql
  execute $pgflow_file$-- core/40_workers/insert_worker_function.sql
-- For operators, before a deployment: a function that has no row yet gets one,
-- disabled. An existing row is left untouched. True when a row was made.
-- Locks: none on existing rows. Errors: 23514, start_mode.
create function pgflow.insert_worker_function(function_name text, start_mode text default 'process')
returns boolean
language plpgsql
security definer
set search_path = ''
as $$
begin
  insert into pgflow.worker_functions (function_name, enabled, start_mode)
  values ($1, false, $2)
  on conflict on constraint worker_functions_pkey do nothing;
  return found;
end
$$;
$pgflow_file$;
  -- core/40_workers/mark_worker_stopped.sql
  execute $pgflow_file$-- core/40_workers/mark_worker_stopped.sql
-- Says that a worker has ended. Again: no change. Unknown: no change.
-- Callers: every worker at its end. Locks: the worker row.
create function pgflow.mark_worker_stopped(worker_id uuid)
returns void
language sql
security definer
set search_path = ''
as $$
  update pgflow.workers w
  set stopped_at = greatest(clock_timestamp(), w.started_at)
  where w.worker_id = $1 and w.stopped_at is null
$$;
$pgflow_file$;
  -- core/40_workers/register_worker.sql
  execute $pgflow_file$-- core/40_workers/register_worker.sql
-- Registers a worker process for one queue, with the exact pairs that it runs.
--
-- standby      alive, without pairs; always allowed, its claims are 'fenced'
-- held         pairs of supported that it cannot run just now
-- predecessor  this process's earlier row, stopped in the same transaction; only
--              a fresh process gives none
-- Returns registered | disabled (the function is, by whomever) | other_queue (the
-- function has a live working worker on another queue) | superseded (predecessor,
-- or this very row, is deprecated, or predecessor is missing). Only 'registered'
-- changes anything. The same id again replaces its pairs: a lost answer may be retried.
--
-- A function that nobody tracked is tracked, as 'process'.
-- Locks: the predecessor's row, this row, then the function row, whose lock makes
-- a registration and an operator's disable never cross, nor two registrations.
create function pgflow.register_worker(
  worker_id uuid, queue_name text, function_name text, supported pgflow.task_pair[],
  info jsonb default '{}', standby boolean default false,
  held pgflow.task_pair[] default '{}', predecessor uuid default null)
returns text
language plpgsql
security definer
set search_path = ''
as $$
declare
  known pgflow.workers;
  refusal text;
begin
  if predecessor is not null and not pgflow._lock_predecessor(predecessor) then
    return 'superseded';
  end if;
  select w.* into known from pgflow.workers w where w.worker_id = $1 for no key update;
  if known.deprecated_at is not null or known.stopped_at is not null then
    return 'superseded';
  end if;

  insert into pgflow.worker_functions (function_name, start_mode)
  values ($3, 'process')
  on conflict on constraint worker_functions_pkey do nothing;
  if not standby then
    refusal := pgflow._registration_refusal(worker_id, queue_name, function_name, predecessor);
    if refusal is not null then
      return refusal;
    end if;
  end if;

  update pgflow.workers w
  set stopped_at = greatest(clock_timestamp(), w.started_at)
  where w.worker_id = $8 and w.worker_id <> $1 and w.stopped_at is null;
  insert into pgflow.workers as w (worker_id, queue_name, function_name, standby, info)
  values ($1, lower($2), $3, $6, coalesce($5, '{}'))
  on conflict on constraint workers_pkey do update
  set queue_name = excluded.queue_name,
      function_name = excluded.function_name,
      standby = excluded.standby,
      info = excluded.info,
      last_heartbeat_at = greatest(clock_timestamp(), w.last_heartbeat_at);
  perform pgflow._set_pairs(worker_id, case when standby then '{}' else supported end, held);
  return 'registered';
end
$$;
$pgflow_file$;
  -- core/40_workers/setup_ensure_workers_cron.sql
  execute $pgflow_file$-- core/40_workers/setup_ensure_workers_cron.sql
-- Schedules ensure_workers() and the hourly cleanup of its log with pg_cron.
-- Returns what was done, for people. Callers: operators.
create function pgflow.setup_ensure_workers_cron(cron_interval text default '1 second')
returns text
language plpgsql
security definer
set search_path = ''
as $$
begin
  if not pgflow._schedule_job('pgflow_ensure_workers', cron_interval, 'select pgflow.ensure_workers()') then
    return 'Nothing scheduled: pg_cron is not installed';
  end if;
  perform pgflow._schedule_job('pgflow_cleanup_logs', '0 * * * *', 'select pgflow.cleanup_ensure_workers_logs()');
  return format('Scheduled pgflow_ensure_workers (every %s) and pgflow_cleanup_logs (hourly)', cron_interval);
end
$$;
$pgflow_file$;
  -- core/40_workers/track_worker_function.sql
  execute $pgflow_file$-- core/40_workers/track_worker_function.sql
-- Records a worker function at the start of one of its workers. A new one is
-- enabled; a known one keeps enabled, pause, debounce and last_invoked_at, so
-- that starting a worker never undoes a fence.
-- Callers: every worker at startup. Locks: the function row. Errors: 23514, start_mode.
create function pgflow.track_worker_function(function_name text, start_mode text default 'http')
returns void
language sql
security definer
set search_path = ''
as $$
  insert into pgflow.worker_functions as f (function_name, start_mode)
  values ($1, $2)
  on conflict (function_name) do update
  set start_mode = excluded.start_mode,
      updated_at = greatest(clock_timestamp(), f.updated_at)
$$;
$pgflow_file$;
  -- core/40_workers/worker_function_state.sql
  execute $pgflow_file$-- core/40_workers/worker_function_state.sql
-- What decides whether a worker of this function may start: enabled, and what
-- explains it. No row: the function is not tracked.
-- Callers: hosts at startup and while standing by. Locks: none.
create function pgflow.worker_function_state(name text)
returns table (enabled boolean, paused_at timestamptz, pause_reason jsonb)
language sql
stable
security definer
set search_path = ''
as $$
  select f.enabled, f.paused_at, f.pause_reason
  from pgflow.worker_functions f
  where f.function_name = $1
$$;
$pgflow_file$;
  -- core/40_workers/worker_is_gone.sql
  execute $pgflow_file$-- core/40_workers/worker_is_gone.sql
-- Whether a worker is gone (_is_gone), for operators, who may not call what is
-- internal. No row: true. Callers: pgflowctl. Locks: none.
create function pgflow.worker_is_gone(worker_id uuid)
returns boolean
language sql
stable
set search_path = ''
as $$
  select coalesce((select pgflow._is_gone(w) from pgflow.workers w where w.worker_id = $1), true)
$$;
$pgflow_file$;
  -- core/40_workers/worker_is_live.sql
  execute $pgflow_file$-- core/40_workers/worker_is_live.sql
-- Whether a worker is live (_is_live), for operators, who may not call what is
-- internal. No row: false. Callers: pgflowctl. Locks: none.
create function pgflow.worker_is_live(worker_id uuid)
returns boolean
language sql
stable
set search_path = ''
as $$
  select coalesce((select pgflow._is_live(w) from pgflow.workers w where w.worker_id = $1), false)
$$;
$pgflow_file$;
  -- core/40_workers/workers_missing.sql
  execute $pgflow_file$-- core/40_workers/workers_missing.sql
-- Enabled process functions without a live working worker: what a supervisor
-- should have running and has not. last_heartbeat_at: of its latest row, if any.
-- Callers: operators, monitoring. Locks: none.
create function pgflow.workers_missing()
returns table (function_name text, last_heartbeat_at timestamptz)
language sql
stable
security definer
set search_path = ''
as $$
  select f.function_name, (
    select max(w.last_heartbeat_at) from pgflow.workers w where w.function_name = f.function_name)
  from pgflow.worker_functions f
  where f.enabled
    and f.start_mode = 'process'
    and not exists (
      select
      from pgflow.workers w
      where w.function_name = f.function_name and not w.standby and pgflow._is_live(w))
  order by f.function_name
$$;
$pgflow_file$;
  -- core/45_claims/00_type_claim_row.sql
  execute $pgflow_file$-- core/45_claims/00_type_claim_row.sql
-- One row of a claim's answer: one message of the batch, or one row that says
-- why there is none (outcome 'empty' or 'fenced').
--
-- outcome      started | busy | stale | foreign | held | unsupported | fenced | empty
-- attempt      counted by this claim, from 1; max_attempts the effective limit
-- claim_no     the fence that results and releases must carry
-- timeout      effective timeout of the step, seconds
-- input        the handler's input; null with input_error when it cannot be built
-- flow_input   the run's input, on the first row of each run that wants it
-- body_mismatch  the message's body does not name the task that owns it
-- reason       of 'fenced': unknown | deprecated | stopped | standby | other_queue | must_stop
-- due_in_ms    of 'empty': until the next message is visible; null: queue is empty; of 'started',
--              zero or less: since its message was visible; null: read before this claim
create type pgflow.claim_row as (
  outcome text,
  queue_name text,
  msg_id bigint,
  flow_slug text,
  run_id uuid,
  step_slug text,
  task_index int,
  attempt int,
  max_attempts int,
  claim_no int,
  timeout int,
  input jsonb,
  flow_input jsonb,
  input_error text,
  body_mismatch boolean,
  reason text,
  due_in_ms bigint
);
$pgflow_file$;
  -- core/45_claims/00_type_step_task_record.sql
  execute $pgflow_file$-- core/45_claims/00_type_step_task_record.sql
-- What the old form of the claim, start_tasks, returns to existing workers.
create type pgflow.step_task_record as (
  flow_slug text,
  run_id uuid,
  step_slug text,
  input jsonb,
  msg_id bigint,
  task_index int,
  flow_input jsonb
);
$pgflow_file$;
  -- core/45_claims/01_type__claim_item.sql
  execute $pgflow_file$-- core/45_claims/01_type__claim_item.sql
-- Internal: one classified message of a batch, handed from statement to
-- statement of one claim.
--
-- place        position in the answer          read_ct   as it is after this read
-- present      this claim holds the message row; false: another session does; null:
--              the queue has no such message
-- visible_at   when the message is visible again; null: leave it as the read left it
-- due_in_ms    of 'busy': until its recovery deadline (negative: passed); of 'started': for how
--              long its message was visible, negative; null: read before this claim
-- root         the step has no dependencies    map       it is a map step
create type pgflow._claim_item as (
  place int,
  msg_id bigint,
  read_ct int,
  present boolean,
  outcome text,
  reason text,
  flow_slug text,
  run_id uuid,
  step_slug text,
  task_index int,
  attempt int,
  max_attempts int,
  claim_no int,
  timeout int,
  body_mismatch boolean,
  due_in_ms bigint,
  visible_at timestamptz,
  root boolean,
  map boolean,
  wants_flow_input boolean
);

-- Internal: the messages of a batch as the read left them, by position. due_ats: when they became
-- visible; null: the claim did not read them.
create type pgflow._message_batch as (
  msg_ids bigint[],
  read_cts int[],
  bodies jsonb[],
  present boolean[],
  due_ats timestamptz[]
);
$pgflow_file$;
  -- core/45_claims/_check_same_length.sql
  execute $pgflow_file$-- core/45_claims/_check_same_length.sql
-- Refuses parallel arrays of different length, naming the function and lengths.
-- Callers: the functions that take results or releases. Locks: none. Errors: 22023.
create function pgflow._check_same_length(
  function_name text, run_ids uuid[], step_slugs text[], task_indexes int[], claim_nos int[])
returns void
language plpgsql
immutable
set search_path = ''
as $$
begin
  if (cardinality(step_slugs), cardinality(task_indexes), cardinality(claim_nos))
     is distinct from (cardinality(run_ids), cardinality(run_ids), cardinality(run_ids)) then
    raise exception '%: % run_ids, % step_slugs, % task_indexes, % claim_nos', function_name,
        cardinality(run_ids), cardinality(step_slugs), cardinality(task_indexes), cardinality(claim_nos)
      using errcode = 'invalid_parameter_value', hint = 'Give one element of each for every item.';
  end if;
end
$$;
$pgflow_file$;
  -- core/45_claims/_claim_batch.sql
  execute $pgflow_file$-- core/45_claims/_claim_batch.sql
-- The claim, from the messages taken to the answer: locks the tasks, classifies
-- the whole batch before any change, then either starts what may start or, with
-- a single unsupported message in it, lets the guard give everything back.
--
-- bump, rest_at, check_reads: see _set_visibility and _guard_batch
-- Callers: claim_tasks, read_and_claim_tasks. Locks: task rows by skip locked.
create function pgflow._claim_batch(
  queue_name text, batch pgflow._message_batch, worker_id uuid, supported pgflow.task_pair[],
  held pgflow.task_pair[], bump int, rest_at timestamptz, check_reads boolean)
returns setof pgflow.claim_row
language plpgsql
set search_path = ''
as $$
declare
  locked_ids bigint[] := pgflow._lock_tasks(queue_name, batch.msg_ids);
  items pgflow._claim_item[] :=
    pgflow._classify_messages(queue_name, batch, locked_ids, supported, held);
  stale_ids bigint[];
begin
  if exists (select from unnest(items) i where i.outcome = 'unsupported') then
    return query select g.* from pgflow._guard_batch(
      queue_name, items, worker_id, bump, rest_at, check_reads) g;
    return;
  end if;

  perform pgflow._start_items(items, worker_id, true);
  perform pgflow._set_visibility(queue_name, items, bump, rest_at);

  stale_ids := array(select i.msg_id from unnest(items) i where i.outcome = 'stale' and i.present);
  if stale_ids <> '{}' then
    perform pgflow._archive(array_fill(lower(queue_name), array[cardinality(stale_ids)]), stale_ids);
  end if;

  return query select a.* from pgflow._safe_item_rows(queue_name, items, false) a;
end
$$;
$pgflow_file$;
  -- core/45_claims/_classify_messages.sql
  execute $pgflow_file$-- core/45_claims/_classify_messages.sql
-- The claim's third statement: what becomes of each message of the batch. It
-- changes nothing. Its snapshot is younger than the locks of the second one, so
-- a locked task is seen as it stays; run and step need no lock, because whoever
-- ends them ends their tasks in the same transaction and would wait for us.
--
-- batch      the messages taken        locked_ids  those whose task is locked by us
-- supported  pairs this worker runs    held        pairs of these it cannot run now
-- A busy task that is locked elsewhere, or whose message is, has no visible_at.
-- Returns one item a message, in order, with its outcome, tested in the order
-- foreign, stale, busy, unsupported, held, started. The durable pair (queue,
-- message id) decides; a body that says otherwise is only reported.
-- The laterals with limit 1 are what keeps the plan one index lookup a message:
-- without them a plan made on small tables joins whole tables, and is kept.
-- Callers: the claims. Locks: none.
create function pgflow._classify_messages(
  queue_name text, batch pgflow._message_batch, locked_ids bigint[],
  supported pgflow.task_pair[], held pgflow.task_pair[])
returns pgflow._claim_item[]
language plpgsql
set search_path = ''
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
set jit = off
as $$
declare
  moment timestamptz := clock_timestamp();
begin
  return array(
    with message as (
      select m.place::int, m.msg_id, m.read_ct, m.body, m.present, m.due_at
      from unnest(batch.msg_ids, batch.read_cts, batch.bodies, batch.present, batch.due_ats)
             with ordinality as m(msg_id, read_ct, body, present, due_at, place)
    ), looked_up as materialized (
      select
        m.place, m.msg_id, m.read_ct, m.body, m.present, m.due_at, t.flow_slug, t.run_id, t.step_slug,
        t.task_index, t.attempts_count, t.claim_no, t.recover_at, s.deps_count, s.step_type,
        s.wants_flow_input,
        coalesce(s.opt_max_attempts, f.opt_max_attempts) as max_attempts,
        coalesce(s.opt_timeout, f.opt_timeout) as timeout,
        m.present and t.message_id = any (locked_ids) as is_ours,
        case
          when t.run_id is null then 'foreign'
          when t.status not in ('queued', 'started')
            or ss.status in ('completed', 'failed', 'skipped')
            or r.status <> 'started' then 'stale'
          when t.status = 'started' or not m.present
            or not t.message_id = any (locked_ids) then 'busy'
          when ((t.flow_slug, t.step_slug) in (
            select p.flow_slug, p.step_slug from unnest(supported) p)) is not true then 'unsupported'
          when (t.flow_slug, t.step_slug) in (
            select h.flow_slug, h.step_slug from unnest(held) h) then 'held'
          else 'started'
        end as outcome
      from message m
      left join lateral (
        select x.flow_slug, x.run_id, x.step_slug, x.task_index, x.message_id, x.status,
               x.attempts_count, x.claim_no, x.recover_at
        from pgflow.step_tasks x
        where x.queue_name = lower($1) and x.message_id = m.msg_id
        limit 1) t on true
      left join lateral (
        select x.status from pgflow.runs x where x.run_id = t.run_id
        limit 1) r on true
      left join lateral (
        select x.status from pgflow.step_states x
        where x.run_id = t.run_id and x.step_slug = t.step_slug
        limit 1) ss on true
      left join pgflow.steps s on s.flow_slug = t.flow_slug and s.step_slug = t.step_slug
      left join pgflow.flows f on f.flow_slug = t.flow_slug
    )
    select row(
      l.place, l.msg_id, l.read_ct, l.present, l.outcome,
      case when l.outcome = 'busy' then
        case when l.is_ours then 'running' else 'locked' end
      end,
      l.flow_slug, l.run_id, l.step_slug, l.task_index,
      case when l.outcome = 'started' then l.attempts_count + 1 end,
      l.max_attempts,
      case when l.outcome = 'started' then l.claim_no + 1 end,
      l.timeout,
      l.outcome <> 'foreign' and coalesce(l.present, false) and (
        l.body ->> 'run_id' is distinct from l.run_id::text
        or l.body ->> 'step_slug' is distinct from l.step_slug
        or l.body ->> 'task_index' is distinct from l.task_index::text
        or l.body ->> 'flow_slug' is distinct from l.flow_slug),
      case
        when l.outcome = 'busy' and l.is_ours then
          ceil(extract(epoch from l.recover_at - moment) * 1000)::bigint
        when l.outcome = 'started' and isfinite(l.due_at) then
          least(ceil(extract(epoch from l.due_at - moment) * 1000)::bigint, 0)
      end,
      case l.outcome
        when 'started' then moment + make_interval(secs => l.timeout + 2)
        when 'busy' then
          case when l.is_ours then greatest(l.recover_at, moment + interval '5 seconds') end
        when 'held' then moment + interval '10 seconds'
        when 'foreign' then
          moment + least(greatest(l.read_ct, 1) * interval '10 minutes', interval '1 day')
      end,
      l.deps_count = 0, l.step_type = 'map', l.wants_flow_input
    )::pgflow._claim_item
    from looked_up l
    order by l.place
  );
end
$$;
$pgflow_file$;
  -- core/45_claims/_delete_messages.sql
  execute $pgflow_file$-- core/45_claims/_delete_messages.sql
-- Deletes messages by (queue, id), archived and live, whichever is there.
-- Parallel arrays; queues that are gone are passed over.
-- Callers: prune_data_older_than. Locks: the message rows.
create function pgflow._delete_messages(queue_names text[], message_ids bigint[])
returns void
language plpgsql
set search_path = ''
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
declare
  batch record;
begin
  for batch in
    select m.queue_name, array_agg(m.message_id order by m.message_id) as ids
    from unnest(queue_names, message_ids) as m(queue_name, message_id)
    where m.message_id is not null
    group by m.queue_name
    order by m.queue_name
  loop
    continue when to_regclass(format('pgmq.%I', pgmq.format_table_name(batch.queue_name, 'q'))) is null;
    perform pgmq.delete(batch.queue_name, batch.ids);
    execute format('delete from pgmq.%I a where a.msg_id = any ($1)',
                   pgmq.format_table_name(batch.queue_name, 'a'))
    using batch.ids;
  end loop;
end
$$;
$pgflow_file$;
  -- core/45_claims/_empty_row.sql
  execute $pgflow_file$-- core/45_claims/_empty_row.sql
-- The one row of a claim that found nothing to take: due_in_ms until the next
-- message is visible, at least 1; null when none is waiting, and when the next one
-- is put off for ever ('infinity', by hand). Callers: the claims.
create function pgflow._empty_row(queue_name text, next_due timestamptz)
returns pgflow.claim_row
language plpgsql
set search_path = ''
as $$
begin
  return row('empty', lower(queue_name), null, null, null, null, null, null, null, null, null, null,
             null, null, null, null,
             case when isfinite(next_due) then
               greatest(ceil(extract(epoch from next_due - clock_timestamp()) * 1000), 1)::bigint
             end)::pgflow.claim_row;
end
$$;
$pgflow_file$;
  -- core/45_claims/_fail_exhausted.sql
  execute $pgflow_file$-- core/45_claims/_fail_exhausted.sql
-- Recovery, first half: tasks that stalled once more after being requeued three
-- times fail for good, through the normal path (when_exhausted decides), run by
-- run in lock order. Each run in a subtransaction: one that raises is reported as
-- a warning and stops nobody else. A run that is locked is left for the next round.
-- Every exhausted run is a candidate, so that one which raises each round cannot
-- keep the others out; at_most bounds the tasks handled. Returns their number.
-- Locks: the run (skip locked), then what _fail_stalled takes, which looks again
-- under its locks. Caller: requeue_stalled_tasks.
create function pgflow._fail_exhausted(at_most int)
returns int
language plpgsql
set search_path = ''
as $$
declare
  one record;
  handled int := 0;
begin
  for one in
    select t.run_id,
           (array_agg(t.step_slug order by t.step_slug, t.task_index))[1:at_most] as step_slugs,
           (array_agg(t.task_index order by t.step_slug, t.task_index))[1:at_most] as task_indexes
    from pgflow.step_tasks t
    where t.status = 'started' and t.recover_at <= clock_timestamp() and t.requeued_count >= 3
    group by t.run_id
    order by t.run_id
  loop
    exit when handled >= at_most;
    begin
      perform from pgflow.runs r
      where r.run_id = one.run_id and r.status || '' = 'started'
      for no key update skip locked;
      if found then
        perform pgflow._fail_stalled(
          array_fill(one.run_id, array[cardinality(one.step_slugs)]), one.step_slugs,
          one.task_indexes,
          '[STALLED] no worker finished the task, and it was requeued 3 times');
        handled := handled + cardinality(one.step_slugs);
      end if;
    exception when others then
      raise warning 'recovery: run % could not be failed as stalled: % (%)', one.run_id, sqlerrm, sqlstate;
    end;
  end loop;
  return handled;
end
$$;
$pgflow_file$;
  -- core/45_claims/_fence_reason.sql
  execute $pgflow_file$-- core/45_claims/_fence_reason.sql
-- Why this worker may not claim from this queue; null: it may.
-- unknown | deprecated | stopped | standby | other_queue | must_stop.
-- worker: the row as the caller read or locked it; all null when there is none.
-- Callers: claim_tasks, read_and_claim_tasks, before and after they lock the row.
-- Locks: none.
create function pgflow._fence_reason(worker pgflow.workers, queue_name text)
returns text
language plpgsql
set search_path = ''
as $$
begin
  return case
    when worker.worker_id is null then 'unknown'
    when worker.deprecated_at is not null then 'deprecated'
    when worker.stopped_at is not null then 'stopped'
    when worker.standby then 'standby'
    when lower(worker.queue_name) <> lower(queue_name) then 'other_queue'
    when pgflow._must_stop(worker.worker_id, worker.function_name) then 'must_stop'
  end;
end
$$;
$pgflow_file$;
  -- core/45_claims/_fenced_row.sql
  execute $pgflow_file$-- core/45_claims/_fenced_row.sql
-- The one row of a claim that the fence refused. Callers: the claims.
create function pgflow._fenced_row(queue_name text, reason text)
returns pgflow.claim_row
language plpgsql
immutable
set search_path = ''
as $$
begin
  return row('fenced', lower(queue_name), null, null, null, null, null, null, null, null, null, null,
             null, null, null, reason, null)::pgflow.claim_row;
end
$$;
$pgflow_file$;
  -- core/45_claims/_give_back.sql
  execute $pgflow_file$-- core/45_claims/_give_back.sql
-- Gives started tasks back: queued again, the attempt not counted, the claim
-- number moved on so that a late result of it is fenced off, the message visible
-- after delay seconds. handler_started[i]: counts a release of a started handler.
-- Parallel arrays of task keys, all locked and seen as started by the caller.
-- Callers: release_tasks, release_tasks_except. Locks: the message rows.
create function pgflow._give_back(
  run_ids uuid[], step_slugs text[], task_indexes int[], handler_started boolean[], delay int)
returns void
language plpgsql
set search_path = ''
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
as $$
declare
  queue_names text[];
  message_ids bigint[];
begin
  with given as (
    update pgflow.step_tasks t
    set status = 'queued',
        started_at = null,
        recover_at = null,
        attempts_count = greatest(t.attempts_count - 1, 0),
        claim_no = t.claim_no + 1,
        released_count = t.released_count + coalesce(g.started, false)::int
    from unnest(run_ids, step_slugs, task_indexes, handler_started)
           with ordinality as g(run_id, step_slug, task_index, started, place)
    where t.run_id = any (array[g.run_id]) and t.step_slug = g.step_slug and t.task_index = g.task_index
    returning g.place, t.queue_name, t.message_id
  )
  select array_agg(g.queue_name order by g.place), array_agg(g.message_id order by g.place)
  into queue_names, message_ids
  from given g;

  perform pgflow._notify(pgflow._show_tasks(
    run_ids, step_slugs, task_indexes, queue_names, message_ids,
    array_fill(delay, array[cardinality(run_ids)])));
end
$$;
$pgflow_file$;
  -- core/45_claims/_guard_batch.sql
  execute $pgflow_file$-- core/45_claims/_guard_batch.sql
-- The guard: a batch with at least one unsupported message. Nothing is started
-- or archived and no attempt counted. What this read still holds becomes visible
-- at once, and the worker's function is paused in the same transaction, last.
--
-- Still held: read_ct as this read left it, tested in the update itself, so that
-- the lease of another worker that has re-read a message stays untouched, whatever
-- the outcome. A caller that gave no read_cts (check_reads false) gets its queued
-- tasks reset. busy and foreign messages get what their outcome asks for.
--
-- Returns the rows of the whole batch: unsupported ones with their pairs; tasks
-- that would have been started as 'held', reason 'unsupported_batch' (so are the
-- stale and held ones, which nothing happens to but the reset).
-- Locks: none on messages beyond the claim's, then the function row (last in
-- the lock order). A function that is disabled already is left alone.
create function pgflow._guard_batch(
  queue_name text, items pgflow._claim_item[], worker_id uuid, bump int, rest_at timestamptz,
  check_reads boolean)
returns setof pgflow.claim_row
language plpgsql
set search_path = ''
set enable_seqscan = off
set jit = off
as $$
declare
  moment timestamptz := clock_timestamp();
begin
  execute format($query$
    update pgmq.%I m
    set vt = case when i.outcome in ('busy', 'foreign') then coalesce(i.visible_at, $3, m.vt)
                  else $4 end,
        read_ct = m.read_ct + $2
    from unnest($1) i
    where m.msg_id = i.msg_id
      and i.present
      and (not $5 or m.read_ct + $2 = i.read_ct)
      and case when i.outcome in ('busy', 'foreign') then coalesce(i.visible_at, $3) is not null
               else $5 or i.outcome <> 'stale' end
    $query$, pgmq.format_table_name(queue_name, 'q'))
  using items, bump, rest_at, moment, check_reads;
  perform pgflow._notify(array[queue_name]);
  perform pgflow._pause_function(queue_name, items, worker_id);

  return query
    select (a).*
    from (
      select row(
        case when i.outcome = 'started' then 'held' else i.outcome end,
        lower($1), i.msg_id, i.flow_slug, i.run_id, i.step_slug, i.task_index, null, i.max_attempts,
        null, i.timeout, null, null, null, i.body_mismatch,
        case when i.outcome in ('busy', 'foreign', 'unsupported') then i.reason else 'unsupported_batch' end,
        case when i.outcome = 'busy' then i.due_in_ms end)::pgflow.claim_row as a
      from unnest(items) i
      order by i.place
    ) answer;
end
$$;
$pgflow_file$;
  -- core/45_claims/_item_rows.sql
  execute $pgflow_file$-- core/45_claims/_item_rows.sql
-- The answer of a claim: its items as claim rows, the started ones with their
-- inputs. Raises what building an input raises; _safe_item_rows deals with it.
--
-- input       single root step: {}; single dependent step: {dep: output} of the
--             completed dependencies; map step: the task's element
-- flow_input  for root single steps and for steps that want it, on the first row
--             of each run only (every_row: on every one)
-- Callers: _safe_item_rows. Locks: none. Errors: 54000, an input beyond jsonb's size.
create function pgflow._item_rows(queue_name text, items pgflow._claim_item[], every_row boolean)
returns pgflow.claim_row[]
language plpgsql
set search_path = ''
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
set jit = off
as $$
begin
  return array(
    with item as (
      select i.*, i.outcome = 'started' and (i.wants_flow_input or i.root and not i.map)
                  as takes_flow_input
      from unnest(items) i
    ), turn as (
      select i.*, row_number() over (
        partition by i.run_id, i.takes_flow_input order by i.place) as turn
      from item i
    )
    select row(
      i.outcome, lower($1), i.msg_id, i.flow_slug, i.run_id, i.step_slug, i.task_index, i.attempt,
      i.max_attempts, i.claim_no, i.timeout,
      case
        when i.outcome <> 'started' then null
        when i.map then (
          select t.input from pgflow.step_tasks t
          where t.run_id = i.run_id and t.step_slug = i.step_slug and t.task_index = i.task_index)
        when i.root then '{}'::jsonb
        else (
          select coalesce(jsonb_object_agg(d.dep_slug, ss.output), '{}')
          from pgflow.deps d
          join pgflow.step_states ss on ss.run_id = i.run_id and ss.step_slug = d.dep_slug
          where d.flow_slug = i.flow_slug and d.step_slug = i.step_slug and ss.status = 'completed')
      end,
      case
        when i.takes_flow_input and (i.turn = 1 or every_row) then (
          select r.input from pgflow.runs r where r.run_id = i.run_id)
      end,
      null, i.body_mismatch, i.reason, i.due_in_ms
    )::pgflow.claim_row
    from turn i
    order by i.place
  );
end
$$;
$pgflow_file$;
  -- core/45_claims/_lock_tasks.sql
  execute $pgflow_file$-- core/45_claims/_lock_tasks.sql
-- The claim's second statement: locks the tasks that own these messages and
-- returns the message ids of those it got. A statement of its own, after the
-- read: its snapshot is younger, so it sees every task whose message was read.
-- The lateral with limit 1 leaves the plan one look-up a message. Asked by `message_id = any (...)`, a plan made while
-- the table was small or empty walks over all tasks of the queue, and is kept.
-- Locks: the task rows, by skip locked: a claim waits for nothing.
create function pgflow._lock_tasks(queue_name text, message_ids bigint[])
returns bigint[]
language plpgsql
set search_path = ''
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
set jit = off
as $$
begin
  return array(
    select t.message_id
    from unnest(message_ids) m (msg_id)
    cross join lateral (
      select x.message_id
      from pgflow.step_tasks x
      where x.queue_name = lower($1) and x.message_id = m.msg_id
      limit 1
      for update skip locked
    ) t
  );
end
$$;
$pgflow_file$;
  -- core/45_claims/_next_due.sql
  execute $pgflow_file$-- core/45_claims/_next_due.sql
-- When the next message of a queue is visible; null: it has none. In the past:
-- there is work. One probe of the index on vt, so a million delayed messages cost
-- nothing. after: only messages due then or later.
-- Takes no lock and no transaction id.
-- Callers: the claims. Errors: 42P01, no such queue.
create function pgflow._next_due(queue_name text, after timestamptz default '-infinity')
returns timestamptz
language plpgsql
set search_path = ''
set enable_seqscan = off
set enable_sort = off
set jit = off
as $$
declare
  due timestamptz;
begin
  -- A bound costs its estimate, which looks at both ends of the index: none where none is needed.
  execute format('select m.vt from pgmq.%I m %s order by m.vt limit 1',
                 pgmq.format_table_name(queue_name, 'q'),
                 case when after > '-infinity' then 'where m.vt >= $1' end)
  using after
  into due;
  return due;
exception when undefined_table then
  raise exception 'queue "%" does not exist', queue_name
    using errcode = 'undefined_table',
          hint = 'It was dropped, or never made: see pgflow.queues and pgmq.list_queues().';
end
$$;
$pgflow_file$;
  -- core/45_claims/_pause_function.sql
  execute $pgflow_file$-- core/45_claims/_pause_function.sql
-- Pauses the function of a worker that read unsupported work, where it is
-- enabled: enabled = false, paused_at, pause_reason {queue, messageIds, pairs:
-- [{flowSlug, stepSlug}], workerId, info}. A function that is disabled already
-- keeps the word of whoever did it; one without a row gets a paused one, so that
-- a restarted host stands by in any case.
-- Caller: _guard_batch. Locks: the function row.
create function pgflow._pause_function(
  queue_name text, items pgflow._claim_item[], worker_id uuid)
returns void
language sql
set search_path = ''
as $$
  with unsupported as (
    select i.msg_id, i.flow_slug, i.step_slug
    from unnest(items) i
    where i.outcome = 'unsupported'
  ), reason as (
    select jsonb_build_object(
      'queue', lower($1),
      'messageIds', (select jsonb_agg(u.msg_id order by u.msg_id) from unsupported u),
      'pairs', (
        select jsonb_agg(jsonb_build_object('flowSlug', p.flow_slug, 'stepSlug', p.step_slug)
                         order by p.flow_slug, p.step_slug)
        from (select distinct u.flow_slug, u.step_slug from unsupported u) p),
      'workerId', w.worker_id,
      'info', w.info) as reason, w.function_name
    from pgflow.workers w
    where w.worker_id = $3
  )
  insert into pgflow.worker_functions as f
    (function_name, enabled, start_mode, paused_at, pause_reason)
  select r.function_name, false, 'process', clock_timestamp(), r.reason
  from reason r
  on conflict (function_name) do update
  set enabled = false,
      -- Not before the fence that touched the row last: apply_manifest asks which came later.
      paused_at = greatest(excluded.paused_at, f.updated_at),
      pause_reason = excluded.pause_reason,
      updated_at = greatest(excluded.paused_at, f.updated_at)
  where f.enabled
$$;
$pgflow_file$;
  -- core/45_claims/_read_messages.sql
  execute $pgflow_file$-- core/45_claims/_read_messages.sql
-- The claim's first statement: takes the rows of up to qty visible messages, the
-- longest visible first. It changes nothing yet; the claim sets read_ct and vt
-- of all of them once it knows their outcomes, in one update instead of two.
-- Own SQL instead of pgmq.read, which cannot use the index on vt: its time
-- argument is volatile, so it walks over every delayed message.
-- Locks: the message rows, by skip locked. Caller: read_and_claim_tasks.
create function pgflow._read_messages(queue_name text, qty int)
returns pgflow._message_batch
language plpgsql
set search_path = ''
set enable_seqscan = off
set enable_sort = off
set jit = off
as $$
declare
  batch pgflow._message_batch;
begin
  execute format($query$
    select array_agg(d.msg_id), array_agg(d.read_ct), array_agg(d.message), array_agg(true),
           array_agg(d.vt)
    from (
      select m.msg_id, m.vt, m.read_ct + 1 as read_ct, m.message
      from pgmq.%I m
      where m.vt <= (select $1)
      order by m.vt
      limit $2
      for update skip locked
    ) d
    $query$, pgmq.format_table_name(queue_name, 'q'))
  using clock_timestamp(), qty
  into batch.msg_ids, batch.read_cts, batch.bodies, batch.present, batch.due_ats;
  return batch;
end
$$;
$pgflow_file$;
  -- core/45_claims/_registered_pairs.sql
  execute $pgflow_file$-- core/45_claims/_registered_pairs.sql
-- The pairs that a worker registered. Callers: the claim. Locks: none.
create function pgflow._registered_pairs(worker_id uuid)
returns pgflow.task_pair[]
language plpgsql
set search_path = ''
as $$
begin
  return array(
    select row(p.flow_slug, p.step_slug)::pgflow.task_pair
    from pgflow.worker_task_pairs p
    where p.worker_id = $1
  );
end
$$;
$pgflow_file$;
  -- core/45_claims/_requeue_queue.sql
  execute $pgflow_file$-- core/45_claims/_requeue_queue.sql
-- Recovery of one queue: started tasks past their deadline go back to queued, at
-- most at_most of them, their messages visible at once. The claim number moves
-- on, so a late result of the lost attempt is fenced off; the attempt stays counted.
-- Returns the number requeued.
-- Locks: the task rows by skip locked (a locked one is being finished or claimed),
-- then their messages. Caller: requeue_stalled_tasks.
create function pgflow._requeue_queue(queue_name text, at_most int)
returns int
language plpgsql
set search_path = ''
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
as $$
declare
  locked record;
  requeued record;
begin
  with candidates as (
    select t.run_id, t.step_slug, t.task_index
    from pgflow.step_tasks t
    where t.status = 'started' and t.recover_at <= clock_timestamp()
      and t.requeued_count < 3 and t.queue_name = $1
    order by t.recover_at
    limit at_most
    for update skip locked
  )
  select array_agg(c.run_id) as run_ids, array_agg(c.step_slug) as step_slugs,
         array_agg(c.task_index) as task_indexes
  into locked
  from candidates c;

  with changed as (
    update pgflow.step_tasks t
    set status = 'queued',
        started_at = null,
        recover_at = null,
        claim_no = t.claim_no + 1,
        requeued_count = t.requeued_count + 1,
        last_requeued_at = clock_timestamp()
    from unnest(locked.run_ids, locked.step_slugs, locked.task_indexes)
           as l(run_id, step_slug, task_index)
    where t.run_id = any (array[l.run_id]) and t.step_slug = l.step_slug and t.task_index = l.task_index
      and exists (select from pgflow.runs r where r.run_id = t.run_id and r.status = 'started')
      and exists (
        select from pgflow.step_states ss
        where ss.run_id = t.run_id and ss.step_slug = t.step_slug and ss.status = 'started')
    returning t.run_id, t.step_slug, t.task_index, t.queue_name, t.message_id
  )
  select array_agg(c.run_id) as run_ids, array_agg(c.step_slug) as step_slugs,
         array_agg(c.task_index) as task_indexes, array_agg(c.queue_name) as queue_names,
         array_agg(c.message_id) as message_ids, count(*)::int as how_many
  into requeued
  from changed c;

  if requeued.how_many > 0 then
    perform pgflow._notify(pgflow._show_tasks(
      requeued.run_ids, requeued.step_slugs, requeued.task_indexes, requeued.queue_names,
      requeued.message_ids, array_fill(0, array[requeued.how_many])));
  end if;
  return requeued.how_many;
end
$$;
$pgflow_file$;
  -- core/45_claims/_safe_item_rows.sql
  execute $pgflow_file$-- core/45_claims/_safe_item_rows.sql
-- The answer of a claim, where an input that cannot be built or sent costs its
-- own task only: it comes with input null and input_error. In one statement;
-- when that raises, or holds something huge, item by item.
-- Limit of input and flow_input together as text: 256 MiB, so that a row stays
-- far below the protocol's 1 GiB whatever escapes it needs.
-- Callers: the claims. Locks: none.
create function pgflow._safe_item_rows(queue_name text, items pgflow._claim_item[], every_row boolean)
returns setof pgflow.claim_row
language plpgsql
set search_path = ''
as $$
declare
  limit_bytes constant int := 256 * 1024 * 1024;
  -- Six bytes of text for one stored is the most that escapes can take.
  worth_measuring constant int := limit_bytes / 6;
  answer pgflow.claim_row[];
  item pgflow._claim_item;
  one pgflow.claim_row;
  text_size bigint;
  runs_served uuid[] := array[]::uuid[];
begin
  begin
    answer := pgflow._item_rows(queue_name, items, every_row);
  exception when others then
    answer := null;
  end;
  if answer is not null and not exists (
    select from unnest(answer) a
    where pg_column_size(a.input) > worth_measuring or pg_column_size(a.flow_input) > worth_measuring
  ) then
    return query select a.* from unnest(answer) a;
    return;
  end if;

  answer := null;
  foreach item in array items loop
    begin
      one := (pgflow._item_rows(queue_name, array[item], every_row))[1];
      if not every_row and one.run_id = any (runs_served) then
        one.flow_input := null;
      end if;
      if pg_column_size(one.input) > worth_measuring or pg_column_size(one.flow_input) > worth_measuring then
        text_size := octet_length(one.input::text) + coalesce(octet_length(one.flow_input::text), 0);
        if text_size > limit_bytes then
          raise exception 'the input is % bytes long, the limit is %', text_size, limit_bytes
            using errcode = 'program_limit_exceeded';
        end if;
      end if;
      if one.flow_input is not null then
        runs_served := runs_served || one.run_id;
      end if;
    exception when others then
      one := row(
        item.outcome, lower(queue_name), item.msg_id, item.flow_slug, item.run_id, item.step_slug,
        item.task_index, item.attempt, item.max_attempts, item.claim_no, item.timeout, null, null,
        'the input cannot be built: ' || sqlerrm, item.body_mismatch, item.reason, item.due_in_ms);
    end;
    return next one;
  end loop;
end
$$;
$pgflow_file$;
  -- core/45_claims/_set_visibility.sql
  execute $pgflow_file$-- core/45_claims/_set_visibility.sql
-- Sets the visibility that the outcomes of a claim ask for, in one statement.
--
-- items     those with a visible_at; the others stay as they are
-- bump      added to read_ct: 1 when this claim is the read, else 0
-- rest_at   when bump is 1: the visibility of the items without a visible_at
-- Every message here is locked by this transaction. If one that is to be started
-- is gone all the same, the claim must not start anything: an error undoes it.
-- Locks: none beyond those. Errors: 40001, a message is gone.
create function pgflow._set_visibility(
  queue_name text, items pgflow._claim_item[], bump int, rest_at timestamptz)
returns void
language plpgsql
set search_path = ''
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
as $$
declare
  queue_table text := pgmq.format_table_name(queue_name, 'q');
  were_set int;
  missing int;
begin
  execute format($query$
    update pgmq.%I m
    set vt = coalesce(i.visible_at, $3), read_ct = m.read_ct + $2
    from unnest($1) i
    where m.msg_id = i.msg_id
      and i.outcome <> 'stale'
      and (i.visible_at is not null or $3 is not null)
    $query$, queue_table)
  using items, bump, rest_at;
  get diagnostics were_set = row_count;
  -- A plain update costs less to plan than one that counts its rows by outcome: count only when
  -- one is missing, which may be a message that nothing was to happen to.
  if were_set = cardinality(items) then
    return;
  end if;

  execute format($query$
    select count(*)
    from unnest($1) i
    where i.outcome = 'started' and not exists (select from pgmq.%I m where m.msg_id = i.msg_id)
    $query$, queue_table)
  using items
  into missing;
  if missing > 0 then
    raise exception 'queue "%": the messages of % queued tasks are gone', queue_name, missing
      using errcode = 'serialization_failure',
            detail = 'Nothing of this claim was started.',
            hint = 'Somebody removed messages from the queue; end the runs concerned with pgflow.cancel_run.';
  end if;
end
$$;
$pgflow_file$;
  -- core/45_claims/_start_items.sql
  execute $pgflow_file$-- core/45_claims/_start_items.sql
-- Marks the started items of a claim as started: attempt and claim counted,
-- worker recorded, recovery deadline set from the timeout given at this claim.
-- exact: claimed by exact pair, so that only the fenced result counts.
-- The key is compared by `= any (array[...])` here and in its neighbours: a plain
-- equality may be joined by scanning the task table in index order, which a plan
-- made while the table was small would do, and keep.
-- Callers: the claims. Locks: none; the tasks are locked by this transaction.
create function pgflow._start_items(items pgflow._claim_item[], worker_id uuid, exact boolean)
returns void
language plpgsql
set search_path = ''
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
set jit = off
as $$
declare
  moment timestamptz := clock_timestamp();
begin
  update pgflow.step_tasks t
  set status = 'started',
      started_at = greatest(moment, t.queued_at),
      attempts_count = i.attempt,
      claim_no = i.claim_no,
      claimed_exact = exact,
      recover_at = moment + make_interval(secs => i.timeout + 30),
      last_worker_id = $2
  from unnest(items) i
  where i.outcome = 'started'
    and t.run_id = any (array[i.run_id])
    and t.step_slug = i.step_slug
    and t.task_index = i.task_index;
end
$$;
$pgflow_file$;
  -- core/45_claims/_take_messages.sql
  execute $pgflow_file$-- core/45_claims/_take_messages.sql
-- The first statement of a claim whose caller has read the messages before:
-- takes the rows of the messages given. One that another session has locked
-- comes with present = false, one that is gone with null.
-- Locks: the message rows, by skip locked. Callers: claim_tasks, start_tasks.
create function pgflow._take_messages(queue_name text, message_ids bigint[])
returns pgflow._message_batch
language plpgsql
set search_path = ''
set enable_seqscan = off
set jit = off
as $$
declare
  batch pgflow._message_batch;
begin
  execute format($query$
    with wanted as (
      select w.msg_id, min(w.place) as place
      from unnest($1) with ordinality as w(msg_id, place)
      where w.msg_id is not null
      group by w.msg_id
    ), held as (
      select m.msg_id, m.read_ct, m.message
      from pgmq.%1$I m
      where m.msg_id = any ($1)
      for update skip locked
    )
    select array_agg(w.msg_id order by w.place), array_agg(h.read_ct order by w.place),
           array_agg(h.message order by w.place),
           array_agg(case when h.msg_id is not null then true
                          when exists (select from pgmq.%1$I m where m.msg_id = w.msg_id) then false
                     end order by w.place)
    from wanted w left join held h on h.msg_id = w.msg_id
    $query$, pgmq.format_table_name(queue_name, 'q'))
  using message_ids
  into batch.msg_ids, batch.read_cts, batch.bodies, batch.present;
  return batch;
end
$$;
$pgflow_file$;
  -- core/45_claims/claim_tasks.sql
  execute $pgflow_file$-- core/45_claims/claim_tasks.sql
-- Claims the tasks of messages that the caller has read before.
--
-- message_ids           as pgmq.read gave them, all of the batch
-- supported_task_pairs  the exact pairs that this worker runs
-- read_cts              read_ct of each message as read: with them the guard
--                       resets exactly what this read still holds
-- Returns one pgflow.claim_row a distinct message, or a single 'fenced' or
-- 'empty' row (no message ids given).
-- Locks: the worker's row for share, then messages and tasks by skip locked.
-- Errors: 42P01, the queue is gone; 22023, read_cts of another length; 40001, the
-- message of a queued task is gone: nothing is started.
create function pgflow.claim_tasks(
  queue_name text, message_ids bigint[], worker_id uuid,
  supported_task_pairs pgflow.task_pair[], read_cts int[] default null)
returns setof pgflow.claim_row
language plpgsql
security definer
set search_path = ''
as $$
declare
  worker pgflow.workers;
  batch pgflow._message_batch;
  reason text;
begin
  if read_cts is not null and cardinality(read_cts) <> coalesce(cardinality(message_ids), 0) then
    raise exception 'claim_tasks: % message_ids and % read_cts',
        coalesce(cardinality(message_ids), 0), cardinality(read_cts)
      using errcode = 'invalid_parameter_value', hint = 'Give one read_ct for each message, or null.';
  end if;

  select w.* into worker from pgflow.workers w where w.worker_id = $3;
  reason := pgflow._fence_reason(worker, queue_name);
  if reason is null and coalesce(cardinality(message_ids), 0) = 0 then
    return next pgflow._empty_row(queue_name, pgflow._next_due(queue_name));
    return;
  elsif reason is null then
    select w.* into worker from pgflow.workers w where w.worker_id = $3 for share;
    reason := pgflow._fence_reason(worker, queue_name);
  end if;
  if reason is not null then
    return next pgflow._fenced_row(queue_name, reason);
    return;
  end if;

  batch := pgflow._take_messages(queue_name, message_ids);
  if read_cts is not null then
    batch.read_cts := array(
      select given.read_ct
      from unnest(batch.msg_ids) with ordinality m(msg_id, place)
      join lateral (
        select min(g.read_ct) as read_ct
        from unnest(message_ids, claim_tasks.read_cts) g(msg_id, read_ct)
        where g.msg_id = m.msg_id) given on true
      order by m.place);
  end if;
  return query select c.* from pgflow._claim_batch(
    queue_name, batch, worker_id, supported_task_pairs, '{}', 0, null, read_cts is not null) c;
end
$$;
$pgflow_file$;
  -- core/45_claims/maintain.sql
  execute $pgflow_file$-- core/45_claims/maintain.sql
-- The housekeeping that every host calls every 15 seconds, alone in its
-- transaction: queues that were made anew, recovery, and the rows of workers gone
-- for an hour. One at a time: while another session is at it, this returns 0 at once.
-- A lock that is not to be had within 2 s costs its queue or its run this round,
-- and no other; without that the statement's timeout would end the whole round.
-- Returns the number of tasks requeued.
-- Locks: an advisory lock (try), then those of _renew_queues and requeue_stalled_tasks, then worker
-- rows by skip locked. A row is kept while a started task names it, so that a
-- fence which waits for that task can still find its function.
create function pgflow.maintain()
returns int
language plpgsql
security definer
set search_path = ''
set lock_timeout = '2s'
as $$
declare
  requeued int;
begin
  if not pg_try_advisory_xact_lock(-1885826167, 1) then
    return 0;
  end if;

  begin
    perform pgflow._renew_queues();
  exception when others then
    raise warning 'maintenance: queues that were made anew: % (%)', sqlerrm, sqlstate;
  end;
  requeued := pgflow.requeue_stalled_tasks();
  with gone as (
    select w.worker_id
    from pgflow.workers w
    where (w.last_heartbeat_at <= clock_timestamp() - interval '1 hour'
           or w.stopped_at <= clock_timestamp() - interval '1 hour')
      and not exists (
        select from pgflow.step_tasks t
        where t.status = 'started' and t.last_worker_id = w.worker_id)
    order by w.worker_id
    for update skip locked
  )
  delete from pgflow.workers w using gone where w.worker_id = gone.worker_id;
  return requeued;
end
$$;
$pgflow_file$;
  -- core/45_claims/prune_data_older_than.sql
  execute $pgflow_file$-- core/45_claims/prune_data_older_than.sql
-- Deletes runs that ended longer ago than retention_interval, at most max_runs,
-- with their states, tasks, archived messages and any live ones left, and worker
-- rows silent for longer. Returns the number of runs deleted: call it until 0.
-- Definitions and other flows' messages stay.
-- Locks: the runs by skip locked, then their states, tasks and messages; worker
-- rows by skip locked. Errors: 22023, a null or negative interval or max_runs.
create function pgflow.prune_data_older_than(retention_interval interval, max_runs int default 10000)
returns bigint
language plpgsql
security definer
set search_path = ''
as $$
declare
  cutoff timestamptz := clock_timestamp() - retention_interval;
  doomed uuid[];
  messages record;
begin
  if retention_interval is null or retention_interval < interval '0' or max_runs is null or max_runs < 1 then
    raise exception 'prune_data_older_than: retention_interval %, max_runs %', retention_interval, max_runs
      using errcode = 'invalid_parameter_value', hint = 'Give an interval of at least 0 and max_runs of at least 1.';
  end if;

  with locked as (
    select r.run_id
    from pgflow.runs r
    where r.status <> 'started'
      and r.started_at < cutoff
      and coalesce(r.completed_at, r.failed_at) < cutoff
    order by r.started_at
    limit max_runs
    for update skip locked
  )
  select array_agg(l.run_id) into doomed from locked l;

  with removed as (
    delete from pgflow.step_tasks t where t.run_id = any (doomed)
    returning t.queue_name, t.message_id
  )
  select array_agg(r.queue_name) as queue_names, array_agg(r.message_id) as message_ids
  into messages
  from removed r;
  delete from pgflow.step_states ss where ss.run_id = any (doomed);
  perform pgflow._delete_messages(messages.queue_names, messages.message_ids);
  delete from pgflow.runs r where r.run_id = any (doomed);

  with silent as (
    select w.worker_id from pgflow.workers w
    where w.last_heartbeat_at < cutoff and pgflow._is_gone(w)
    order by w.worker_id
    for update skip locked
  )
  delete from pgflow.workers w using silent where w.worker_id = silent.worker_id;
  return coalesce(cardinality(doomed), 0);
end
$$;
$pgflow_file$;
  -- core/45_claims/read_and_claim_tasks.sql
  execute $pgflow_file$-- core/45_claims/read_and_claim_tasks.sql
-- Reads up to qty visible messages of a queue and claims their tasks, in one
-- round trip, by the pairs that the worker registered.
--
-- read_vt  seconds for which a message stays hidden whose task another session
--          has locked (a read's visibility); every other outcome sets its own
-- held     registered pairs that this host cannot run just now
-- Returns one pgflow.claim_row a message, or a single 'fenced' or 'empty' row.
--
-- An empty claim reads three rows, probes the index on vt, and takes no lock and
-- no transaction id. Once something is visible: the worker's row for share, so
-- that a deprecation waits for this claim and a later claim sees it; then the
-- messages, then the tasks, both by skip locked: it waits for nothing. For the
-- worker's row, or a table that somebody keeps locked, it waits 5 s (55P03): the
-- results behind it on the connection have leases to keep.
-- Errors: 42P01, the queue is gone; 22023, a bad qty or read_vt.
create function pgflow.read_and_claim_tasks(
  queue_name text, qty int, read_vt int, worker_id uuid, held pgflow.task_pair[] default '{}')
returns setof pgflow.claim_row
language plpgsql
security definer
set search_path = ''
set lock_timeout = '5s'
as $$
declare
  moment timestamptz := clock_timestamp();
  worker pgflow.workers;
  next_due timestamptz;
  batch pgflow._message_batch;
  reason text;
begin
  if qty is null or qty < 1 or read_vt is null or read_vt < 0 then
    raise exception 'read_and_claim_tasks: qty % and read_vt %', qty, read_vt
      using errcode = 'invalid_parameter_value', hint = 'qty is at least 1, read_vt at least 0 seconds.';
  end if;

  select w.* into worker from pgflow.workers w where w.worker_id = $4;
  reason := pgflow._fence_reason(worker, queue_name);
  if reason is null then
    next_due := pgflow._next_due(queue_name);
    if next_due is null or next_due > moment then
      return next pgflow._empty_row(queue_name, next_due);
      return;
    end if;
    select w.* into worker from pgflow.workers w where w.worker_id = $4 for share;
    reason := pgflow._fence_reason(worker, queue_name);
  end if;
  if reason is not null then
    return next pgflow._fenced_row(queue_name, reason);
    return;
  end if;

  batch := pgflow._read_messages(queue_name, qty);
  if batch.msg_ids is null then
    -- Others hold what is visible; what they make of it is not ours to wait for.
    return next pgflow._empty_row(queue_name, pgflow._next_due(queue_name, clock_timestamp()));
    return;
  end if;
  return query select c.* from pgflow._claim_batch(
    queue_name, batch, worker_id, pgflow._registered_pairs(worker_id), held, 1,
    clock_timestamp() + make_interval(secs => read_vt), true) c;
end
$$;
$pgflow_file$;
  -- core/45_claims/release_tasks.sql
  execute $pgflow_file$-- core/45_claims/release_tasks.sql
-- Gives back tasks that a host has claimed and does not finish: lateness, a
-- stop, a handler that another host should run.
--
-- Parallel arrays, one item a claim: task key, claim_no as claimed, started (the
-- handler had started). delay: seconds until the messages are visible.
-- One row an item, 1-based: released | late (no longer this claim's: finished,
-- recovered or claimed again) | gone (no such task). The same claim named twice:
-- the second is late.
-- Locks: the runs by id, for share, the task rows in order, then their messages.
-- Errors: 22023, arrays of different length or a negative delay; 55P03, a lock that
-- is not to be had within 2 s (see finish_tasks).
create function pgflow.release_tasks(
  worker_id uuid, run_ids uuid[], step_slugs text[], task_indexes int[], claim_nos int[],
  started boolean[], delay int default 0)
returns table (item int, outcome text)
language plpgsql
security definer
set search_path = ''
set lock_timeout = '2s'
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
as $$
declare
  mine int[];
begin
  perform pgflow._check_same_length('release_tasks', run_ids, step_slugs, task_indexes, claim_nos);
  if cardinality(started) is distinct from cardinality(run_ids) or delay is null or delay < 0 then
    raise exception 'release_tasks: % items, % values of started, delay %',
        cardinality(run_ids), cardinality(started), delay
      using errcode = 'invalid_parameter_value', hint = 'Give one started for each item and a delay of at least 0 seconds.';
  end if;

  -- Runs first: a result that fails one of them ends its other tasks while it holds the reported ones, in no order
  -- that this batch could follow.
  perform from pgflow.runs r where r.run_id = any (run_ids) order by r.run_id for share;
  perform
  from unnest(run_ids, step_slugs, task_indexes) as g(run_id, step_slug, task_index)
  join pgflow.step_tasks t
    on t.run_id = any (array[g.run_id]) and t.step_slug = g.step_slug and t.task_index = g.task_index
  order by t.run_id, t.step_slug, t.task_index
  for update of t;

  mine := array(
    select min(g.item)::int
    from unnest(run_ids, step_slugs, task_indexes, claim_nos)
           with ordinality as g(run_id, step_slug, task_index, claim_no, item)
    join pgflow.step_tasks t
      on t.run_id = any (array[g.run_id]) and t.step_slug = g.step_slug and t.task_index = g.task_index
    where t.status || '' = 'started' and t.last_worker_id = $1 and t.claim_no = g.claim_no
    group by t.run_id, t.step_slug, t.task_index);
  perform pgflow._give_back(
    array_agg(run_ids[m]), array_agg(step_slugs[m]), array_agg(task_indexes[m]),
    array_agg(started[m]), delay)
  from unnest(mine) m
  having count(*) > 0;

  return query
    select g.item::int,
      case when g.item = any (mine) then 'released'
           when t.run_id is null then 'gone'
           else 'late' end
    from unnest(run_ids, step_slugs, task_indexes)
           with ordinality as g(run_id, step_slug, task_index, item)
    left join pgflow.step_tasks t
      on t.run_id = any (array[g.run_id]) and t.step_slug = g.step_slug and t.task_index = g.task_index
    order by g.item;
end
$$;
$pgflow_file$;
  -- core/45_claims/release_tasks_except.sql
  execute $pgflow_file$-- core/45_claims/release_tasks_except.sql
-- Gives back every started task of this worker but the claims named: what a claim
-- took whose answer never arrived. Called after each reconnect, with no claim in
-- flight on any connection, and once more a statement deadline later.
--
-- Parallel arrays: every claim whose result is not acknowledged, finished
-- handlers included. Returns the number given back.
-- Locks: the worker's row for update first, so it waits for a claim that still
-- runs on a lost connection (that claim holds the row for share); then the tasks
-- by skip locked: one that is locked is being finished or recovered. Then messages.
-- Errors: 22023, arrays of different length.
create function pgflow.release_tasks_except(
  worker_id uuid, run_ids uuid[], step_slugs text[], task_indexes int[], claim_nos int[])
returns int
language plpgsql
security definer
set search_path = ''
set enable_seqscan = off
set jit = off
as $$
declare
  lost record;
begin
  perform pgflow._check_same_length(
    'release_tasks_except', run_ids, step_slugs, task_indexes, claim_nos);
  perform from pgflow.workers w where w.worker_id = $1 for update;

  with locked as (
    select t.run_id, t.step_slug, t.task_index
    from pgflow.step_tasks t
    where t.status = 'started'
      and t.last_worker_id = $1
      and not exists (
        select
        from unnest(run_ids, step_slugs, task_indexes, claim_nos)
               as h(run_id, step_slug, task_index, claim_no)
        where h.run_id = t.run_id and h.step_slug = t.step_slug
          and h.task_index = t.task_index and h.claim_no = t.claim_no)
    order by t.run_id, t.step_slug, t.task_index
    for update skip locked
  )
  select array_agg(l.run_id) as run_ids, array_agg(l.step_slug) as step_slugs,
         array_agg(l.task_index) as task_indexes, count(*)::int as how_many
  into lost
  from locked l;

  if lost.how_many > 0 then
    perform pgflow._give_back(
      lost.run_ids, lost.step_slugs, lost.task_indexes,
      array_fill(false, array[lost.how_many]), 0);
  end if;
  return lost.how_many;
end
$$;
$pgflow_file$;
  -- core/45_claims/requeue_stalled_tasks.sql
  execute $pgflow_file$-- core/45_claims/requeue_stalled_tasks.sql
-- Recovery: tasks whose deadline (recover_at) has passed while run and step are
-- started. The exhausted ones first, they fail with [STALLED]; then the others go
-- back to the queue, at most three times each, at most 1,000 tasks a round, each
-- queue in a subtransaction: one that raises is reported as a warning and stops
-- nobody else, and so does one whose message is not to be had within 2 s. It never
-- looks at what the caller can run.
-- Returns the number of tasks requeued.
-- Callers: maintain, the cron job of existing installations. Locks: runs and
-- tasks by skip locked, then messages.
create function pgflow.requeue_stalled_tasks()
returns int
language plpgsql
security definer
set search_path = ''
set lock_timeout = '2s'
as $$
declare
  round_limit constant int := 1000;
  requeued int := 0;
  in_queue text;
begin
  perform pgflow._fail_exhausted(round_limit);

  for in_queue in
    select t.queue_name
    from pgflow.step_tasks t
    where t.status = 'started' and t.recover_at <= clock_timestamp() and t.requeued_count < 3
    group by t.queue_name
    order by min(t.recover_at)
  loop
    exit when requeued >= round_limit;
    begin
      requeued := requeued + pgflow._requeue_queue(in_queue, round_limit - requeued);
    exception when others then
      raise warning 'recovery: queue "%": % (%)', in_queue, sqlerrm, sqlstate;
    end;
  end loop;
  return requeued;
end
$$;
$pgflow_file$;
  -- core/45_claims/setup_requeue_stalled_tasks_cron.sql
  execute $pgflow_file$-- core/45_claims/setup_requeue_stalled_tasks_cron.sql
-- Schedules requeue_stalled_tasks() with pg_cron, for installations whose workers
-- do not call maintain(). Returns what was done, for people. Callers: operators.
create function pgflow.setup_requeue_stalled_tasks_cron(cron_interval text default '15 seconds')
returns text
language plpgsql
security definer
set search_path = ''
as $$
begin
  if not pgflow._schedule_job(
    'pgflow_requeue_stalled_tasks', cron_interval, 'select pgflow.requeue_stalled_tasks()') then
    return 'Nothing scheduled: pg_cron is not installed';
  end if;
  return format('Scheduled pgflow_requeue_stalled_tasks (every %s)', cron_interval);
end
$$;
$pgflow_file$;
  -- core/45_claims/start_tasks.sql
  execute $pgflow_file$-- core/45_claims/start_tasks.sql
-- The old form of the claim, kept for existing workers: starts the queued tasks
-- of one flow whose messages the caller has read. Everything else in the batch
-- is left as it is, but a message whose task has ended is archived.
--
-- Three arguments: the queue that pgflow.queues records as the flow's own.
-- On a shared queue it raises: such a worker would lease its neighbours' messages.
-- Tasks started here are not claimed_exact: complete_task and fail_task act on
-- whatever attempt is started. The run's input comes as flow_input on every row
-- of a root single step. A task whose input cannot be built is not returned; it
-- stays started until recovery gives it up.
-- Locks: messages and tasks by skip locked. Errors: 42704, no such flow queue;
-- 55000, a shared queue; 42P01, the queue is gone.
create function pgflow.start_tasks(
  flow_slug text, msg_ids bigint[], worker_id uuid, queue_name text)
returns setof pgflow.step_task_record
language plpgsql
set search_path = ''
as $$
declare
  kind text := (select q.kind from pgflow.queues q where q.queue_name = lower($4));
  batch pgflow._message_batch;
  items pgflow._claim_item[];
  ended bigint[];
begin
  if kind is null then
    raise exception 'start_tasks: no queue "%" is known to pgflow', queue_name
      using errcode = 'undefined_object', hint = 'See pgflow.queues.';
  elsif kind = 'shared' then
    raise exception 'start_tasks: queue "%" is shared', queue_name
      using errcode = 'object_not_in_prerequisite_state',
            hint = 'Workers of a shared queue claim by exact pair: pgflow.claim_tasks.';
  end if;

  batch := pgflow._take_messages(queue_name, msg_ids);
  items := pgflow._classify_messages(
    queue_name, batch, pgflow._lock_tasks(queue_name, batch.msg_ids),
    array(select row(s.flow_slug, s.step_slug)::pgflow.task_pair
          from pgflow.steps s where s.flow_slug = $1), '{}');
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
as $$
declare
  own_queue text := (
    select q.queue_name from pgflow.queues q where q.owner_flow_slug = $1 and q.kind = 'flow');
begin
  if own_queue is null then
    raise exception 'start_tasks: flow "%" has no queue of its own', flow_slug
      using errcode = 'undefined_object',
            hint = 'Name the queue as the fourth argument, or claim by exact pair: pgflow.claim_tasks.';
  end if;
  return query select s.* from pgflow.start_tasks(flow_slug, msg_ids, worker_id, own_queue) s;
end
$$;
$pgflow_file$;
  -- core/45_claims/warm_up.sql
  execute $pgflow_file$-- core/45_claims/warm_up.sql
-- Prepares this session for claims and results: every statement of theirs that keeps its plan is run once, on nothing.
-- The first claim and the first flush of a session would otherwise plan some twenty statements, which takes longer than
-- a hundred tasks. It changes nothing, locks no row and takes no transaction id, whatever the queue holds.
--
-- The settings are those of finish_tasks, by which the plans of the results are made; functions of the claim have
-- their own.
-- Locks: none. Callers: hosts, on each connection for work, before the first claim.
create function pgflow.warm_up(queue_name text)
returns void
language plpgsql
security definer
set search_path = ''
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
as $$
declare
  nobody constant uuid := gen_random_uuid();
  nothing pgflow._message_batch;
  no_step constant pgflow._step_ref[] := array[row(nobody, '', '', null)::pgflow._step_ref];
begin
  perform pgflow._next_due(queue_name);
  perform pgflow._registered_pairs(nobody);
  perform pgflow._lock_tasks(queue_name, '{}');
  perform pgflow._classify_messages(queue_name, nothing, '{}', '{}', '{}');
  perform pgflow._start_items('{}', nobody, true);
  perform pgflow._safe_item_rows(queue_name, '{}', false);

  perform pgflow.finish_tasks(nobody, '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}');
  perform pgflow._count_results('{}');
  perform pgflow._advance(no_step, '{}', '{}', '{}', 2, '{}');
  perform pgflow._create_tasks('{}');
  perform pgflow._archive('{}', '{}');
end
$$;
$pgflow_file$;
  -- core/50_coverage/_coverage_needs.sql
  execute $pgflow_file$-- core/50_coverage/_coverage_needs.sql
-- One row a pair and reason that a queue (canonical name) must be served for; the
-- reasons are those of queue_coverage.
--
-- Retired versions have no work and cost nothing: routes are immutable, so a step
-- of a flow in service is looked up by (queue, flow), and the pairs of queued tasks
-- by hopping through their index from pair to pair, not task by task.
-- The settings keep these plans whatever the statistics say.
-- Callers: queue_coverage, missing_coverage.
create function pgflow._coverage_needs(queue_name text)
returns table (flow_slug text, step_slug text, reason text)
language sql
stable
set search_path = ''
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
  with recursive in_service as materialized (
    select f.flow_slug
    from pgflow.flows f
    where f.retired_at is null
  ),
  routed as materialized (
    select s.flow_slug, s.step_slug
    from in_service f
    -- offset 0: from the flows to their steps here, never from all steps of the queue
    cross join lateral (
      select t.flow_slug, t.step_slug
      from pgflow.steps t
      where t.queue_name = _coverage_needs.queue_name and t.flow_slug = f.flow_slug
      offset 0
    ) as s
  ),
  queued as (
    (select t.flow_slug, t.step_slug
     from pgflow.step_tasks t
     where t.status = 'queued' and t.queue_name = _coverage_needs.queue_name
     order by t.flow_slug, t.step_slug
     limit 1)
    union all
    select n.flow_slug, n.step_slug
    from queued q
    cross join lateral (
      select t.flow_slug, t.step_slug
      from pgflow.step_tasks t
      where t.status = 'queued' and t.queue_name = _coverage_needs.queue_name
        and (t.flow_slug, t.step_slug) > (q.flow_slug, q.step_slug)
      order by t.flow_slug, t.step_slug
      limit 1
    ) as n
  )
  select r.flow_slug, r.step_slug, 'active'
  from routed r
  where exists (select from pgflow.flow_aliases a where a.active_flow_slug = r.flow_slug)
  union all
  select r.flow_slug, r.step_slug, 'draining'
  from routed r
  where exists (
    select
    from pgflow.runs u
    join pgflow.step_states s on s.run_id = u.run_id and s.step_slug = r.step_slug
    where u.flow_slug = r.flow_slug and u.status = 'started' and s.status in ('created', 'started'))
  union all
  select q.flow_slug, q.step_slug, 'executable' from queued q
  union all
  select distinct t.flow_slug, t.step_slug, 'recoverable'
  from pgflow.step_tasks t
  where t.status = 'started' and t.queue_name = _coverage_needs.queue_name
$$;
$pgflow_file$;
  -- core/50_coverage/_live_tasks.sql
  execute $pgflow_file$-- core/50_coverage/_live_tasks.sql
-- Queued and started tasks of a flow, counted by queue and state, on every queue
-- there is: a drain verdict trusts neither runs nor routes. Queued ones are looked
-- up by (queue, flow), started ones in the short list of all that are started; the
-- settings keep these plans whatever the statistics say.
-- Callers: drain_status, _drain_blockers.
create function pgflow._live_tasks(flow_slug text)
returns table (queue_name text, status text, tasks bigint)
language sql
stable
set search_path = ''
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
  select t.queue_name, t.status, count(*)
  from pgflow.queues q
  join pgflow.step_tasks t on t.queue_name = q.queue_name
  where t.flow_slug = _live_tasks.flow_slug and t.status = 'queued'
  group by t.queue_name, t.status
  union all
  select t.queue_name, t.status, count(*)
  from pgflow.step_tasks t
  where t.flow_slug = _live_tasks.flow_slug and t.status = 'started'
  group by t.queue_name, t.status
$$;
$pgflow_file$;
  -- core/50_coverage/_reachable_queues.sql
  execute $pgflow_file$-- core/50_coverage/_reachable_queues.sql
-- The queues where started runs of a flow may still send a task or have one, sorted.
-- Callers: drain_status.
create function pgflow._reachable_queues(flow_slug text)
returns text[]
language sql
stable
set search_path = ''
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
  select coalesce(array_agg(q.queue_name order by q.queue_name), '{}')
  from (
    select distinct s.queue_name
    from pgflow.steps s
    where s.flow_slug = _reachable_queues.flow_slug
      and exists (
        select
        from pgflow.runs r
        join pgflow.step_states t on t.run_id = r.run_id and t.step_slug = s.step_slug
        where r.flow_slug = s.flow_slug and r.status = 'started' and t.status in ('created', 'started'))
    union
    select t.queue_name from pgflow._live_tasks(_reachable_queues.flow_slug) as t
  ) as q
$$;
$pgflow_file$;
  -- core/50_coverage/drain_status.sql
  execute $pgflow_file$-- core/50_coverage/drain_status.sql
-- How far a version is drained; one row:
--
-- started_runs       runs that may still make work, task or not
-- live_tasks         [{queue, status: queued | started, tasks}]
-- reachable_queues   where a started run may still send a task, or has one
-- live_workers       [{workerId, functionName, queue, standby}]: those that carry it
-- safe_to_retire     no started run, no live task, no alias but its own on it;
--                    recomputed here and once more inside retire_flow
-- blockers           why not, as readable lines
-- Locks: none. Errors: 42704 unknown flow: unknown is never "nothing left".
-- Callers: operators (pgflowctl drain), hosts.
create function pgflow.drain_status(flow_slug text)
returns table (
  alias text,
  is_active boolean,
  retired_at timestamptz,
  started_runs bigint,
  live_tasks jsonb,
  reachable_queues text[],
  live_workers jsonb,
  safe_to_retire boolean,
  blockers text[]
)
language plpgsql
stable
set search_path = ''
as $$
#variable_conflict use_column
declare
  flow pgflow.flows;
begin
  select f.* into flow from pgflow.flows f where f.flow_slug = drain_status.flow_slug;
  if not found then
    perform pgflow._raise_unknown_flow(drain_status.flow_slug);
  end if;

  return query
  select
    flow.alias,
    exists (select from pgflow.flow_aliases a where a.active_flow_slug = flow.flow_slug),
    flow.retired_at,
    (select count(*) from pgflow.runs r where r.flow_slug = flow.flow_slug and r.status = 'started'),
    (select coalesce(jsonb_agg(jsonb_build_object('queue', t.queue_name, 'status', t.status, 'tasks', t.tasks)
                               order by t.queue_name, t.status), '[]')
     from pgflow._live_tasks(flow.flow_slug) as t),
    pgflow._reachable_queues(flow.flow_slug),
    (select coalesce(jsonb_agg(jsonb_build_object(
              'workerId', w.worker_id, 'functionName', w.function_name, 'queue', w.queue_name, 'standby', w.standby)
              order by w.function_name, w.worker_id), '[]')
     from pgflow.workers w
     where pgflow._is_live(w)
       and exists (select from pgflow.worker_task_pairs p
                   where p.worker_id = w.worker_id and p.flow_slug = flow.flow_slug)),
    b.blockers = '{}',
    b.blockers
  from (select pgflow._drain_blockers(flow.flow_slug) as blockers) as b;
end
$$;
$pgflow_file$;
  -- core/50_coverage/draining_runs.sql
  execute $pgflow_file$-- core/50_coverage/draining_runs.sql
-- Which of these versions an alias points at, and how many started runs the others have
-- left. Runs of an active version are not counted (null): there may be any number, and
-- nobody waits for their end. A slug that is not compiled has no row.
-- Locks: none. Reads the started runs of the versions that drain.
-- Callers: hosts (metrics), operators.
create function pgflow.draining_runs(flow_slugs text[])
returns table (flow_slug text, is_active boolean, started_runs bigint)
language sql
stable
set search_path = ''
as $$
  select f.flow_slug, a.active_flow_slug is not null,
         case when a.active_flow_slug is null then (
           select count(*) from pgflow.runs r where r.flow_slug = f.flow_slug and r.status = 'started')
         end
  from pgflow.flows f
  left join pgflow.flow_aliases a on a.active_flow_slug = f.flow_slug
  where f.flow_slug = any (draining_runs.flow_slugs)
  order by f.flow_slug
$$;
$pgflow_file$;
  -- core/50_coverage/host_status.sql
  execute $pgflow_file$-- core/50_coverage/host_status.sql
-- What the status page of a host shows, as one document: the queue by pair, the versions
-- given with their steps, live counts and drain, the workers of the queue, and the latest
-- failures with the text that their handlers gave. No input, no output.
--
-- Bounded: failures are looked for in the 1000 runs started last, at most 20 are given;
-- at most 100 workers. Counting reads every live task of the versions given.
-- Locks: none. Callers: hosts (status page), operators.
create function pgflow.host_status(queue text, flow_slugs text[])
returns jsonb
language sql
stable
set search_path = ''
as $$
  with started as (
    select t.flow_slug, t.step_slug, count(*) as tasks
    from pgflow.step_tasks t
    where t.status = 'started' and t.flow_slug = any (host_status.flow_slugs)
    group by t.flow_slug, t.step_slug
  ),
  step as (
    select s.flow_slug, jsonb_agg(jsonb_build_object(
      'step', s.step_slug, 'type', s.step_type, 'queue', s.queue_name,
      'here', s.queue_name = lower(host_status.queue),
      'after', coalesce((
        select jsonb_agg(d.dep_slug order by d.dep_slug)
        from pgflow.deps d
        where d.flow_slug = s.flow_slug and d.step_slug = s.step_slug), '[]'),
      'queued', (
        select count(*) from pgflow.step_tasks t
        where t.status = 'queued' and t.queue_name = s.queue_name
          and t.flow_slug = s.flow_slug and t.step_slug = s.step_slug),
      'started', coalesce(n.tasks, 0)) order by s.step_index) as steps
    from pgflow.steps s
    left join started n using (flow_slug, step_slug)
    where s.flow_slug = any (host_status.flow_slugs)
    group by s.flow_slug
  ),
  latest as (
    select r.run_id, r.flow_slug from pgflow.runs r order by r.started_at desc limit 1000
  ),
  failure as (
    select ss.flow_slug, ss.step_slug, ss.run_id, ss.status,
           coalesce(ss.failed_at, ss.skipped_at) as at,
           case when length(ss.error_message) > 500 then left(ss.error_message, 497) || '...' else ss.error_message end as error
    from latest l
    join pgflow.step_states ss on ss.run_id = l.run_id
    where l.flow_slug = any (host_status.flow_slugs) and ss.error_message is not null
    order by at desc
    limit 20
  ),
  worker as (
    select w.*, pgflow._is_live(w) as is_live
    from pgflow.workers w
    where lower(w.queue_name) = lower(host_status.queue) and w.stopped_at is null
    order by w.last_heartbeat_at desc
    limit 100
  )
  select jsonb_build_object(
    'queue', coalesce((
      select jsonb_agg(jsonb_build_object(
        'flow', q.flow_slug, 'step', q.step_slug, 'queued', q.depth, 'started', q.started,
        'oldestSeconds', extract(epoch from q.oldest_age)::bigint) order by q.flow_slug, q.step_slug)
      from pgflow.queue_stats(host_status.queue) as q), '[]'),
    'flows', coalesce((
      select jsonb_agg(jsonb_build_object(
        'flow', f.flow_slug, 'alias', f.alias, 'active', d.is_active, 'startedRuns', d.started_runs,
        'retired', f.retired_at is not null, 'steps', coalesce(s.steps, '[]')) order by f.alias, f.created_at)
      from pgflow.draining_runs(host_status.flow_slugs) as d
      join pgflow.flows f using (flow_slug)
      left join step s using (flow_slug)), '[]'),
    'workers', coalesce((
      select jsonb_agg(jsonb_build_object(
        'worker', w.worker_id, 'function', w.function_name, 'host', w.info ->> 'host', 'pid', w.info ->> 'pid',
        'version', w.info ->> 'version', 'standby', w.standby, 'deprecated', w.deprecated_at is not null,
        'live', w.is_live, 'heartbeatSeconds',
        greatest(extract(epoch from clock_timestamp() - w.last_heartbeat_at)::bigint, 0)) order by w.started_at)
      from worker w), '[]'),
    'failures', coalesce((
      select jsonb_agg(jsonb_build_object(
        'flow', x.flow_slug, 'step', x.step_slug, 'run', x.run_id, 'status', x.status, 'at', x.at,
        'error', x.error) order by x.at desc)
      from failure x), '[]'))
$$;
$pgflow_file$;
  -- core/50_coverage/missing_coverage.sql
  execute $pgflow_file$-- core/50_coverage/missing_coverage.sql
-- The pairs that queue_coverage asks for and supported lacks; no rows: covered.
-- counts[i] is what stands behind reasons[i]: 1 for active, the started runs that
-- may still reach the step for draining, tasks for executable and recoverable.
-- Locks: none. Counting reads what it counts, of missing pairs only.
-- Callers: hosts at startup, operators.
create function pgflow.missing_coverage(queue_name text, supported pgflow.task_pair[])
returns table (flow_slug text, step_slug text, reasons text[], counts bigint[])
language sql
stable
set search_path = ''
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
  with missing as (
    select n.flow_slug, n.step_slug, n.reason
    from pgflow._coverage_needs(lower(missing_coverage.queue_name)) as n
    where not exists (
      select from unnest(missing_coverage.supported) as p
      where p.flow_slug = n.flow_slug and p.step_slug = n.step_slug)
  ),
  counted as (
    select m.*, array_position('{active,draining,executable,recoverable}', m.reason) as position,
           case m.reason
             when 'draining' then (
               select count(*)
               from pgflow.runs u
               join pgflow.step_states s on s.run_id = u.run_id and s.step_slug = m.step_slug
               where u.flow_slug = m.flow_slug and u.status = 'started' and s.status in ('created', 'started'))
             when 'executable' then (
               select count(*)
               from pgflow.step_tasks t
               where t.status = 'queued' and t.queue_name = lower(missing_coverage.queue_name)
                 and t.flow_slug = m.flow_slug and t.step_slug = m.step_slug)
             when 'recoverable' then (
               select count(*)
               from pgflow.step_tasks t
               where t.status = 'started' and t.queue_name = lower(missing_coverage.queue_name)
                 and t.flow_slug = m.flow_slug and t.step_slug = m.step_slug)
             else 1
           end as behind
    from missing m
  )
  select c.flow_slug, c.step_slug, array_agg(c.reason order by c.position), array_agg(c.behind order by c.position)
  from counted c
  group by c.flow_slug, c.step_slug
  order by c.flow_slug, c.step_slug
$$;
$pgflow_file$;
  -- core/50_coverage/queue_coverage.sql
  execute $pgflow_file$-- core/50_coverage/queue_coverage.sql
-- The pairs that workers of a queue must support now, and why:
-- active        the active version of its alias, in service, has the step here
-- draining      a started run of this flow may still reach the step
-- executable    a queued task of it is on this queue
-- recoverable   a started task of it is on this queue
-- Whatever the queue name's spelling; a queue that is not known has no pairs.
-- Locks: none.
-- Callers: missing_coverage, operators.
create function pgflow.queue_coverage(queue_name text)
returns table (flow_slug text, step_slug text, reasons text[])
language sql
stable
set search_path = ''
as $$
  select n.flow_slug, n.step_slug,
         array_agg(n.reason order by array_position('{active,draining,executable,recoverable}', n.reason))
  from pgflow._coverage_needs(lower(queue_name)) as n
  group by n.flow_slug, n.step_slug
  order by n.flow_slug, n.step_slug
$$;
$pgflow_file$;
  -- core/50_coverage/queue_stats.sql
  execute $pgflow_file$-- core/50_coverage/queue_stats.sql
-- What waits on a queue, by pair: depth (queued tasks, delayed ones included), the
-- age of the oldest, and tasks in hand. A pair without live task has no row.
-- Locks: none. Reads every live task of the queue.
-- Callers: hosts (metrics), operators.
create function pgflow.queue_stats(queue text)
returns table (flow_slug text, step_slug text, depth bigint, oldest_age interval, started bigint)
language sql
stable
set search_path = ''
as $$
  with queued as (
    select t.flow_slug, t.step_slug, count(*) as depth, min(t.queued_at) as oldest
    from pgflow.step_tasks t
    where t.status = 'queued' and t.queue_name = lower(queue_stats.queue)
    group by t.flow_slug, t.step_slug
  ),
  in_hand as (
    select t.flow_slug, t.step_slug, count(*) as started
    from pgflow.step_tasks t
    where t.status = 'started' and t.queue_name = lower(queue_stats.queue)
    group by t.flow_slug, t.step_slug
  )
  select p.flow_slug, p.step_slug, coalesce(q.depth, 0),
         case when q.oldest is not null then greatest(clock_timestamp() - q.oldest, interval '0') end,
         coalesce(h.started, 0)
  from (
    select q.flow_slug, q.step_slug from queued q
    union
    select h.flow_slug, h.step_slug from in_hand h
  ) as p
  left join queued q using (flow_slug, step_slug)
  left join in_hand h using (flow_slug, step_slug)
  order by p.flow_slug, p.step_slug
$$;
$pgflow_file$;
  -- core/60_rollout/00_table_deployment_manifest.sql
  execute $pgflow_file$-- core/60_rollout/00_table_deployment_manifest.sql
-- One row a deployment, kept for audit: the manifest is the only source of what
-- is fenced, waited for and enabled (docs/operations/rollout.md).
--
-- manifest     as loaded by load_manifest
-- fenced_at    when fence_manifest disabled its replace functions
-- applied_at   when apply_manifest last set its final states
create table pgflow.deployment_manifest (
  deployment text primary key,
  manifest jsonb not null,
  loaded_at timestamptz not null default clock_timestamp(),
  fenced_at timestamptz,
  applied_at timestamptz,
  constraint deployment_manifest_is_named check (deployment <> ''),
  constraint deployment_manifest_is_object check (jsonb_typeof(manifest) = 'object')
);
$pgflow_file$;
  -- core/60_rollout/_affected_queues.sql
  execute $pgflow_file$-- core/60_rollout/_affected_queues.sql
-- The queues that a manifest affects: those that its functions serve, and, unless
-- its scope is "handler", every queue of the flows whose code a replace changes:
-- shared code or a contract is imported by all their workers.
-- A flow that is not compiled yet has no queues and no consumers.
-- Callers: _left_out_functions.
create function pgflow._affected_queues(manifest jsonb)
returns table (queue_name text)
language sql
stable
set search_path = ''
as $$
  with entries as (
    select * from pgflow._manifest_entries(manifest)
  ),
  served as (
    select e.queue_name, e.action from entries e where e.queue_name is not null
    union
    select s.queue_name, e.action from entries e join pgflow.steps s on s.flow_slug = e.flow_slug
  ),
  changed_flows as (
    select e.flow_slug from entries e where e.action = 'replace' and e.flow_slug is not null
    union
    select s.flow_slug
    from entries e
    join pgflow.steps s on s.queue_name = e.queue_name
    join pgflow.flows f on f.flow_slug = s.flow_slug and f.retired_at is null
    where e.action = 'replace'
  )
  select s.queue_name from served s
  union
  select s.queue_name
  from changed_flows c
  join pgflow.steps s on s.flow_slug = c.flow_slug
  where coalesce(manifest ->> 'scope', 'all') = 'all'
$$;
$pgflow_file$;
  -- core/60_rollout/_bad_module_names.sql
  execute $pgflow_file$-- core/60_rollout/_bad_module_names.sql
-- The modules of a manifest entry that can be no build-id and no sha256 sum: those are
-- bytes in hexadecimal digits, at most 64 of them. A file name, a sum with its algorithm
-- before it or one that was cut short matches no process ever. What http functions say
-- of themselves is theirs.
-- Callers: _manifest_problems.
create function pgflow._bad_module_names(entry jsonb)
returns setof text
language sql
immutable
set search_path = ''
as $$
  select m.name
  from jsonb_array_elements_text(
    case jsonb_typeof(entry -> 'modules') when 'array' then entry -> 'modules' else '[]' end)
    with ordinality as m (name, position)
  where entry ->> 'startMode' is distinct from 'http'
    and m.name <> ''
    and m.name !~* '^([0-9a-f]{2}){1,64}$'
  order by m.position
$$;
$pgflow_file$;
  -- core/60_rollout/_carries_exactly.sql
  execute $pgflow_file$-- core/60_rollout/_carries_exactly.sql
-- Whether a worker row carries exactly these modules, each named by build-id or
-- sha256 in lower case. carried is info -> 'modules'; what is no list carries nothing.
-- Callers: _workers_of_other_code, manifest_workers.
create function pgflow._carries_exactly(carried jsonb, modules text[])
returns boolean
language sql
immutable
set search_path = ''
as $$
  with module as (
    select coalesce(lower(m.module ->> 'buildId'), '') as build_id, coalesce(lower(m.module ->> 'sha256'), '') as sha256
    from jsonb_array_elements(case jsonb_typeof(carried) when 'array' then carried else '[]' end) as m (module)
  )
  select not exists (
      select from module m where m.build_id <> all (modules) and m.sha256 <> all (modules))
    and not exists (
      select from unnest(modules) as n (name)
      where not exists (select from module m where n.name in (m.build_id, m.sha256)))
$$;
$pgflow_file$;
  -- core/60_rollout/_expected_pairs.sql
  execute $pgflow_file$-- core/60_rollout/_expected_pairs.sql
-- The pairs that must be served once a manifest is applied, by queue: of every queue
-- that a function which ends enabled serves, what queue_coverage asks for there, and
-- the steps of the flow that is about to take new starts: the one that the entry
-- names, or the owner of the private queue. On a shared queue the newest version of
-- each alias is expected too when a worker of the manifest carries it.
-- Callers: manifest_coverage.
create function pgflow._expected_pairs(deployment text)
returns table (queue_name text, flow_slug text, step_slug text)
language sql
stable
set search_path = ''
as $$
  with entries as (
    select * from pgflow.manifest_entries(_expected_pairs.deployment) as e where e.enabled
  ),
  queues as (
    select e.queue_name from entries e where e.queue_name is not null
    union
    select s.queue_name from entries e join pgflow.steps s on s.flow_slug = e.flow_slug
  ),
  offered as (
    select e.flow_slug from entries e where e.action in ('add', 'replace') and e.flow_slug is not null
    union
    select q.owner_flow_slug from entries e join pgflow.queues q on q.queue_name = e.queue_name
    union
    select p.flow_slug
    from entries e
    join pgflow.workers w on w.function_name = e.function_name and pgflow._is_live(w)
    join pgflow.worker_task_pairs p on p.worker_id = w.worker_id
    join pgflow.flows f on f.flow_slug = p.flow_slug
    where not exists (
      select from pgflow.flows n where n.alias = f.alias and n.retired_at is null and n.created_at > f.created_at)
  )
  select q.queue_name, s.flow_slug, s.step_slug
  from queues q
  join pgflow.steps s on s.queue_name = q.queue_name
  join pgflow.flows f on f.flow_slug = s.flow_slug and f.retired_at is null
  where s.flow_slug in (select o.flow_slug from offered o)
  union
  select q.queue_name, c.flow_slug, c.step_slug
  from queues q
  cross join lateral pgflow.queue_coverage(q.queue_name) as c
$$;
$pgflow_file$;
  -- core/60_rollout/_fence_waits.sql
  execute $pgflow_file$-- core/60_rollout/_fence_waits.sql
-- What the first half of a rollout still waits for, up to the final states, as
-- (step, line); a step without line is over. Once the final states are applied
-- nothing here waits any more, until it is fenced once more.
--
-- 2 fence, 3 deprecate, 4 wait, 5 deploy, 6 apply
-- Callers: rollout_status.
create function pgflow._fence_waits(loaded pgflow.deployment_manifest)
returns table (step int, line text)
language sql
stable
set search_path = ''
as $$
  with workers as (
    select * from pgflow.manifest_workers(loaded.deployment)
  ),
  replaced as (
    select * from workers w where w.action = 'replace'
  ),
  lines (step, line) as (
    select 2, format('select pgflow.fence_manifest(%L)', loaded.deployment) where loaded.fenced_at is null
    union all
    select 3, format('worker %s of function "%s" (%s, pid %s) is not deprecated', r.worker_id, r.function_name, r.host, r.pid)
    from replaced r
    where r.state <> 'stopped' and not r.deprecated and r.started_at < coalesce(loaded.fenced_at, 'infinity')
    union all
    select 3, format('select pgflow.deprecate_workers(%L)', array_agg(distinct r.function_name))
    from replaced r
    where r.state <> 'stopped' and not r.deprecated and r.started_at < loaded.fenced_at
    having count(*) > 0
    union all
    select 4, format('worker %s of function "%s" (%s, pid %s) is still working', r.worker_id, r.function_name, r.host, r.pid)
    from replaced r
    where r.state = 'working' and not r.gone
    union all
    select 4, format('worker %s of function "%s" has %s', r.worker_id, r.function_name,
                     pgflow._counted(r.started_tasks, 'started task'))
    from replaced r
    where r.started_tasks > 0
    union all
    select 5, o.line from pgflow._workers_of_other_code(loaded) as o (line)
    union all
    select 5, format('stop those processes, then: select pgflow.deprecate_workers(%L)', array_agg(distinct r.function_name))
    from replaced r
    where r.state <> 'stopped' and not r.deprecated and r.right_modules is false
    having count(*) > 0
    union all
    select 5, format('function "%s" has no live worker that stands by with the modules of the manifest', e.function_name)
    from pgflow._manifest_entries(loaded.manifest) as e
    where e.action in ('replace', 'add') and e.enabled and e.start_mode = 'process'
      and not exists (
        select from workers w
        where w.function_name = e.function_name and w.live and w.right_modules is not false)
    union all
    select 6, u.line
    from (
      select pgflow._unready_functions(loaded)
      union all select pgflow._left_out_functions(loaded.manifest)
      union all select pgflow._work_left_behind(loaded.manifest)
      union all select format('select pgflow.apply_manifest(%L)', loaded.deployment)
    ) as u (line)
  )
  select l.step, l.line
  from lines l
  where loaded.applied_at is null or loaded.applied_at < loaded.fenced_at
$$;
$pgflow_file$;
  -- core/60_rollout/_find_manifest.sql
  execute $pgflow_file$-- core/60_rollout/_find_manifest.sql
-- The manifest of a deployment, unlocked. Errors: 42704 unknown.
-- Callers: those that only look at a rollout.
create function pgflow._find_manifest(deployment text)
returns pgflow.deployment_manifest
language plpgsql
stable
set search_path = ''
as $$
declare
  found_row pgflow.deployment_manifest;
begin
  select d.* into found_row
  from pgflow.deployment_manifest d
  where d.deployment = _find_manifest.deployment;
  if not found then
    perform pgflow._raise_unknown_manifest(deployment);
  end if;
  return found_row;
end
$$;
$pgflow_file$;
  -- core/60_rollout/_is_list_of_texts.sql
  execute $pgflow_file$-- core/60_rollout/_is_list_of_texts.sql
-- Whether a JSON value is an array of non-empty texts; absent and null count as empty.
-- Callers: _manifest_problems.
create function pgflow._is_list_of_texts(list jsonb)
returns boolean
language sql
immutable
set search_path = ''
as $$
  select case coalesce(jsonb_typeof(list), 'null')
    when 'null' then true
    when 'array' then not exists (
      select from jsonb_array_elements(list) as e (item)
      where jsonb_typeof(e.item) <> 'string' or e.item = '""')
    else false
  end
$$;
$pgflow_file$;
  -- core/60_rollout/_is_servable.sql
  execute $pgflow_file$-- core/60_rollout/_is_servable.sql
-- Whether the flow or the queue that serves names could exist: a valid slug, or a valid
-- queue name (as _canonical_queue, which raises). serves has passed _serves_one_thing.
-- Callers: _manifest_problems.
create function pgflow._is_servable(serves jsonb)
returns boolean
language sql
immutable
set search_path = ''
as $$
  select case when serves ? 'flow' then pgflow.is_valid_slug(serves ->> 'flow')
    else lower(serves ->> 'queue') ~ '^[a-z0-9_]+(-[a-z0-9_]+)*$' and octet_length(serves ->> 'queue') <= 47 end
$$;
$pgflow_file$;
  -- core/60_rollout/_left_out_functions.sql
  execute $pgflow_file$-- core/60_rollout/_left_out_functions.sql
-- Functions that consume an affected queue and that the manifest does not name, as
-- readable lines. A function consumes the queue of its worker rows while it is
-- enabled (its supervisor may start it again), or while one of them is live and
-- working.
-- Callers: load_manifest, apply_manifest.
create function pgflow._left_out_functions(manifest jsonb)
returns setof text
language sql
stable
set search_path = ''
as $$
  select distinct format('function "%s" consumes queue "%s" and is not in the manifest', w.function_name, q.queue_name)
  from pgflow._affected_queues(manifest) as q
  join pgflow.workers w on lower(w.queue_name) = q.queue_name
  left join pgflow.worker_functions f on f.function_name = w.function_name
  where (coalesce(f.enabled, true) or (pgflow._is_live(w) and not w.standby))
    and w.function_name not in (select e.function_name from pgflow._manifest_entries(manifest) as e)
  order by 1
$$;
$pgflow_file$;
  -- core/60_rollout/_manifest_entries.sql
  execute $pgflow_file$-- core/60_rollout/_manifest_entries.sql
-- The entries of a manifest as rows, defaults filled in; exactly one of flow_slug
-- and queue_name (canonical) is set. The manifest has passed _manifest_problems.
-- Callers: load_manifest, fence_manifest, apply_manifest and their tests.
create function pgflow._manifest_entries(manifest jsonb)
returns table (
  function_name text,
  flow_slug text,
  queue_name text,
  action text,
  enabled boolean,
  start_mode text,
  modules text[]
)
language sql
immutable
set search_path = ''
as $$
  select e.entry ->> 'functionName',
         e.entry -> 'serves' ->> 'flow',
         lower(e.entry -> 'serves' ->> 'queue'),
         e.entry ->> 'action',
         (e.entry ->> 'enabled')::boolean,
         e.entry ->> 'startMode',
         coalesce((
           select array_agg(distinct lower(m.module) order by lower(m.module))
           from jsonb_array_elements_text(coalesce(nullif(e.entry -> 'modules', 'null'), '[]')) as m (module)), '{}')
  from jsonb_array_elements(manifest -> 'entries') with ordinality as e (entry, position)
  order by e.position
$$;
$pgflow_file$;
  -- core/60_rollout/_manifest_problems.sql
  execute $pgflow_file$-- core/60_rollout/_manifest_problems.sql
-- What is wrong with a manifest by itself, as readable lines: fields and words, and
-- final states that contradict their action. A field that nobody knows is a slip of
-- one that would else be missing without a word. Nothing else reads a manifest before
-- this is empty.
-- Callers: load_manifest.
create function pgflow._manifest_problems(manifest jsonb)
returns setof text
language sql
immutable
set search_path = ''
as $$
  with entries as (
    select e.entry, e.position - 1 as number,
           case when e.entry ->> 'functionName' <> '' then format('function "%s"', e.entry ->> 'functionName')
             else format('entries[%s]', e.position - 1) end as thing
    from jsonb_array_elements(
      case jsonb_typeof(manifest -> 'entries') when 'array' then manifest -> 'entries' else '[]' end)
      with ordinality as e (entry, position)
  )
  select 'deployment must be a text that names this deployment'
  where jsonb_typeof(manifest -> 'deployment') is distinct from 'string' or manifest ->> 'deployment' = ''
  union all
  select 'entries must be a list of at least one function' where not exists (select from entries)
  union all
  select format('scope is %s: it must be "all" or "handler"', manifest -> 'scope')
  where coalesce(manifest -> 'scope', '"all"') not in ('"all"', '"handler"')
  union all
  select format('field "%s" is unknown: it must be deployment, entries or scope', k.key)
  from jsonb_object_keys(case jsonb_typeof(manifest) when 'object' then manifest else '{}' end) as k (key)
  where k.key not in ('deployment', 'entries', 'scope')
  union all
  select format('%s: field "%s" is unknown: it must be functionName, serves, action, enabled, startMode or modules',
                e.thing, k.key)
  from entries e
  cross join lateral jsonb_object_keys(case jsonb_typeof(e.entry) when 'object' then e.entry else '{}' end) as k (key)
  where k.key not in ('functionName', 'serves', 'action', 'enabled', 'startMode', 'modules')
  union all
  select format('%s: %s', e.thing, p.problem)
  from entries e
  cross join lateral (values
    (jsonb_typeof(e.entry -> 'functionName') = 'string' and e.entry ->> 'functionName' <> '',
     'functionName must be a text'),
    (e.entry ->> 'action' in ('replace', 'add', 'keep-draining', 'retire'),
     format('action is %s: it must be replace, add, keep-draining or retire', coalesce(e.entry -> 'action', 'null'))),
    (jsonb_typeof(e.entry -> 'enabled') = 'boolean',
     'enabled must say true or false: the final state of the function'),
    (e.entry ->> 'startMode' in ('process', 'http'),
     format('startMode is %s: it must be process or http', coalesce(e.entry -> 'startMode', 'null'))),
    (pgflow._serves_one_thing(e.entry -> 'serves'),
     'serves must be {"flow": SLUG} or {"queue": NAME}'),
    (not pgflow._serves_one_thing(e.entry -> 'serves') or pgflow._is_servable(e.entry -> 'serves'),
     format('serves is %s: no flow or queue can have that name', e.entry -> 'serves')),
    (pgflow._is_list_of_texts(e.entry -> 'modules'),
     'modules must be a list of build-ids or sha256 sums'),
    (e.entry ->> 'action' is distinct from 'retire' or e.entry -> 'enabled' is distinct from 'true',
     'it is retired, and would end enabled'),
    (e.entry ->> 'action' is distinct from 'keep-draining' or e.entry -> 'enabled' is distinct from 'false',
     'it is kept for draining, and would end disabled'),
    (e.entry ->> 'action' is distinct from 'replace' or e.entry ->> 'startMode' is distinct from 'process'
       or coalesce(e.entry -> 'modules', 'null') not in ('null', '[]'),
     'it is replaced, and no modules tell its new processes from its old ones')
  ) as p (is_good, problem)
  where p.is_good is not true
  union all
  select format('%s: module "%s" is neither a build-id nor a sha256 sum: pgflowctl inspect FILE.so shows both', e.thing, m.name)
  from entries e
  cross join lateral pgflow._bad_module_names(e.entry) as m (name)
  union all
  select format('function "%s" has %s entries: it must have one', e.entry ->> 'functionName', count(*))
  from entries e
  where e.entry ->> 'functionName' <> ''
  group by e.entry ->> 'functionName'
  having count(*) > 1
$$;
$pgflow_file$;
  -- core/60_rollout/_old_versions.sql
  execute $pgflow_file$-- core/60_rollout/_old_versions.sql
-- The flows in service that a rollout leaves behind: those with a step on a queue of
-- the manifest that are older than the active version of their alias, and those that
-- an entry which drains or retires names.
-- Callers: _service_waits.
create function pgflow._old_versions(loaded pgflow.deployment_manifest)
returns table (flow_slug text)
language sql
stable
set search_path = ''
as $$
  with entries as (
    select * from pgflow._manifest_entries(loaded.manifest)
  ),
  queues as (
    select e.queue_name from entries e where e.queue_name is not null
    union
    select s.queue_name from entries e join pgflow.steps s on s.flow_slug = e.flow_slug
  )
  select f.flow_slug
  from pgflow.flows f
  where f.retired_at is null
    and (
      f.flow_slug in (
        select e.flow_slug from entries e where e.action in ('keep-draining', 'retire') and e.flow_slug is not null)
      or exists (
        select
        from pgflow.flow_aliases a
        join pgflow.flows n on n.flow_slug = a.active_flow_slug
        where a.alias = f.alias and n.created_at > f.created_at
          and exists (
            select from pgflow.steps s join queues q on q.queue_name = s.queue_name
            where s.flow_slug = f.flow_slug)))
$$;
$pgflow_file$;
  -- core/60_rollout/_raise_manifest_problems.sql
  execute $pgflow_file$-- core/60_rollout/_raise_manifest_problems.sql
-- Raises 55000 with all the reasons why a manifest is refused; none: returns.
-- Callers: load_manifest, apply_manifest.
create function pgflow._raise_manifest_problems(deployment text, problems text[], remedy text)
returns void
language plpgsql
set search_path = ''
as $$
begin
  perform pgflow._raise_problems(
    format('manifest "%s" is refused', coalesce(deployment, '(none)')), problems, 'object_not_in_prerequisite_state', remedy);
end
$$;
$pgflow_file$;
  -- core/60_rollout/_raise_unknown_manifest.sql
  execute $pgflow_file$-- core/60_rollout/_raise_unknown_manifest.sql
-- Raises 42704 for a deployment that has no manifest.
-- Callers: _find_manifest, _require_manifest.
create function pgflow._raise_unknown_manifest(deployment text)
returns void
language plpgsql
set search_path = ''
as $$
begin
  raise exception 'there is no manifest of deployment "%"', deployment
    using errcode = 'undefined_object', hint = 'Load it first: select pgflow.load_manifest(...).';
end
$$;
$pgflow_file$;
  -- core/60_rollout/_require_manifest.sql
  execute $pgflow_file$-- core/60_rollout/_require_manifest.sql
-- Locks and returns the manifest of a deployment. Errors: 42704 unknown.
-- Callers: fence_manifest, apply_manifest.
create function pgflow._require_manifest(deployment text)
returns pgflow.deployment_manifest
language plpgsql
set search_path = ''
as $$
declare
  found_row pgflow.deployment_manifest;
begin
  select d.* into found_row
  from pgflow.deployment_manifest d
  where d.deployment = _require_manifest.deployment
  for update;
  if not found then
    perform pgflow._raise_unknown_manifest(deployment);
  end if;
  return found_row;
end
$$;
$pgflow_file$;
  -- core/60_rollout/_serves_one_thing.sql
  execute $pgflow_file$-- core/60_rollout/_serves_one_thing.sql
-- Whether the serves of a manifest entry names exactly one flow or one queue.
-- Callers: _manifest_problems.
create function pgflow._serves_one_thing(serves jsonb)
returns boolean
language sql
immutable
set search_path = ''
as $$
  select coalesce(
    jsonb_typeof(serves) = 'object'
    and (select count(*) from jsonb_object_keys(
           case jsonb_typeof(serves) when 'object' then serves else '{}' end)) = 1
    and (jsonb_typeof(serves -> 'flow') = 'string' and serves ->> 'flow' <> ''
         or jsonb_typeof(serves -> 'queue') = 'string' and serves ->> 'queue' <> ''),
    false)
$$;
$pgflow_file$;
  -- core/60_rollout/_service_waits.sql
  execute $pgflow_file$-- core/60_rollout/_service_waits.sql
-- What the second half of a rollout still waits for, once the final states are
-- applied, as (step, line); a step without line is over.
--
-- 7 confirm, 8 switch, 9 drain, 10 retire
-- Callers: rollout_status.
create function pgflow._service_waits(loaded pgflow.deployment_manifest)
returns table (step int, line text)
language sql
stable
set search_path = ''
as $$
  with offered as (
    select distinct f.flow_slug, f.alias, a.active_flow_slug
    from pgflow._expected_pairs(loaded.deployment) as x
    join pgflow.flows f on f.flow_slug = x.flow_slug
    left join pgflow.flow_aliases a on a.alias = f.alias
    left join pgflow.flows active on active.flow_slug = a.active_flow_slug
    where a.active_flow_slug is distinct from f.flow_slug
      and coalesce(active.created_at < f.created_at, true)
      and not exists (
        select from pgflow.flows n where n.alias = f.alias and n.retired_at is null and n.created_at > f.created_at)
  ),
  old as materialized (
    select d.flow_slug, s.blockers
    from pgflow._old_versions(loaded) as d
    cross join lateral pgflow.drain_status(d.flow_slug) as s
  )
  select 7, g.line
  from pgflow.manifest_coverage(loaded.deployment) as c
  cross join lateral unnest(c.gaps) as g (line)
  union all
  select 8, format('alias "%s" points at "%s": select pgflow.activate_flow(%L, %L)',
                   o.alias, coalesce(o.active_flow_slug, '(nothing)'), o.alias, o.flow_slug)
  from offered o
  union all
  select 9, format('flow "%s": %s', o.flow_slug, b.line)
  from old o
  cross join lateral unnest(o.blockers) as b (line)
  union all
  select 10, format('worker %s of function "%s" (%s, pid %s) is not deprecated', w.worker_id, w.function_name, w.host, w.pid)
  from pgflow.manifest_workers(loaded.deployment) as w
  where w.action = 'retire' and w.state <> 'stopped' and not w.deprecated
  union all
  select 10, format('select pgflow.deprecate_workers(%L)', array_agg(distinct w.function_name))
  from pgflow.manifest_workers(loaded.deployment) as w
  where w.action = 'retire' and w.state <> 'stopped' and not w.deprecated
  having count(*) > 0
  union all
  select 10, format('flow "%s" is in service: select pgflow.retire_flow(%L)', o.flow_slug, o.flow_slug)
  from old o
$$;
$pgflow_file$;
  -- core/60_rollout/_unknown_services.sql
  execute $pgflow_file$-- core/60_rollout/_unknown_services.sql
-- Entries that replace or keep a function of a flow or a queue that does not exist, as
-- readable lines: an alias or a typing error there would leave consumers out of the
-- affected set without a word. What is added may come before its flow and queue, what
-- is retired after them.
-- Callers: load_manifest, manifest_problems.
create function pgflow._unknown_services(manifest jsonb)
returns setof text
language sql
stable
set search_path = ''
as $$
  select format('function "%s" serves %s, which does not exist', e.function_name,
                case when e.flow_slug is not null then format('flow "%s"', e.flow_slug)
                  else format('queue "%s"', e.queue_name) end)
  from pgflow._manifest_entries(manifest) as e
  where e.action in ('replace', 'keep-draining')
    and not exists (select from pgflow.flows f where f.flow_slug = e.flow_slug)
    and not exists (select from pgflow.queues q where q.queue_name = e.queue_name)
  order by 1
$$;
$pgflow_file$;
  -- core/60_rollout/_unready_functions.sql
  execute $pgflow_file$-- core/60_rollout/_unready_functions.sql
-- Functions of a manifest that must not get their final state yet, as readable
-- lines: never inserted, replaced without a fence, in a deployment that began after
-- this one and replaces them or ends them otherwise (its fence would be lifted, or its
-- end undone), or paused by a guard after the fence.
-- Callers: apply_manifest, rollout_status.
create function pgflow._unready_functions(loaded pgflow.deployment_manifest)
returns setof text
language sql
stable
set search_path = ''
as $$
  with entries as (
    select * from pgflow._manifest_entries(loaded.manifest)
  ),
  taken_over as (
    select distinct on (e.function_name) e.function_name, d.deployment, d.fenced_at
    from pgflow.deployment_manifest d
    cross join lateral pgflow._manifest_entries(d.manifest) as n
    join entries e on e.function_name = n.function_name
    where d.deployment <> loaded.deployment
      and d.fenced_at > loaded.fenced_at
      and ('replace' in (e.action, n.action) or e.enabled <> n.enabled)
    order by e.function_name, d.fenced_at desc
  )
  select case
      when f.function_name is null then format('function "%s" has no row yet', e.function_name)
      when e.action = 'replace' and loaded.fenced_at is null
        then format('function "%s" is to be replaced and was not fenced', e.function_name)
      when t.function_name is not null
        then format('function "%s" belongs to deployment "%s" since %s, after the fence of this one', e.function_name,
                    t.deployment, t.fenced_at)
      else format('function "%s" was paused by the guard at %s, after the fence: %s', e.function_name, f.paused_at,
                  coalesce(f.pause_reason -> 'pairs', '[]'))
    end
  from entries e
  left join pgflow.worker_functions f on f.function_name = e.function_name
  left join taken_over t on t.function_name = e.function_name
  where f.function_name is null
     or (e.action = 'replace' and loaded.fenced_at is null)
     or t.function_name is not null
     or f.paused_at >= loaded.fenced_at
  order by 1
$$;
$pgflow_file$;
  -- core/60_rollout/_work_left_behind.sql
  execute $pgflow_file$-- core/60_rollout/_work_left_behind.sql
-- Work that would stay without a worker when a manifest's retire functions are
-- disabled, as readable lines: pairs that a queue of theirs must be served for, while
-- no other function that ends enabled serves the queue. A plain flow that is active
-- under its own name and has no work is no reason: it is retired after its workers.
-- Callers: apply_manifest, rollout_status.
create function pgflow._work_left_behind(manifest jsonb)
returns setof text
language sql
stable
set search_path = ''
as $$
  with entries as (
    select * from pgflow._manifest_entries(manifest)
  ),
  served as (
    select e.function_name, e.action, e.enabled, e.queue_name from entries e where e.queue_name is not null
    union
    select e.function_name, e.action, e.enabled, s.queue_name
    from entries e join pgflow.steps s on s.flow_slug = e.flow_slug
  ),
  others as (
    select s.queue_name from served s where s.enabled
    union
    select lower(w.queue_name)
    from pgflow.workers w
    join pgflow.worker_functions f on f.function_name = w.function_name and f.enabled
    where pgflow._is_live(w) and w.function_name not in (select e.function_name from entries e)
  )
  select distinct format('function "%s" is the last on queue "%s", which still has work: step "%s" of flow "%s" (%s)',
                         s.function_name, s.queue_name, c.step_slug, c.flow_slug, array_to_string(c.reasons, ', '))
  from served s
  cross join lateral pgflow.queue_coverage(s.queue_name) as c
  join pgflow.flows f on f.flow_slug = c.flow_slug
  where s.action = 'retire'
    and s.queue_name not in (select o.queue_name from others o)
    and not (c.reasons = '{active}' and f.alias = f.flow_slug)
  order by 1
$$;
$pgflow_file$;
  -- core/60_rollout/_workers_of_other_code.sql
  execute $pgflow_file$-- core/60_rollout/_workers_of_other_code.sql
-- Worker rows of replaced functions, neither stopped nor deprecated, live or silent,
-- that carry other modules than the manifest names, as readable lines: old code that
-- could claim once the function is enabled. A module is named by build-id or sha256;
-- both sets must be the same. Entries without modules (http): rows from before the
-- fence are old.
-- Callers: apply_manifest, rollout_status.
create function pgflow._workers_of_other_code(loaded pgflow.deployment_manifest)
returns setof text
language sql
stable
set search_path = ''
as $$
  with rows as (
    select w.worker_id, w.function_name, w.queue_name, w.started_at, e.modules, w.info -> 'modules' as carried
    from pgflow._manifest_entries(loaded.manifest) as e
    join pgflow.workers w on w.function_name = e.function_name
    where e.action = 'replace' and w.stopped_at is null and w.deprecated_at is null
  )
  select format('worker %s of function "%s" on queue "%s" %s', r.worker_id, r.function_name, r.queue_name,
                case when r.modules = '{}' then 'was there before the fence'
                  else 'does not carry exactly the modules of the manifest' end)
  from rows r
  where case when r.modules = '{}' then r.started_at < loaded.fenced_at
          else not pgflow._carries_exactly(r.carried, r.modules) end
  order by 1
$$;
$pgflow_file$;
  -- core/60_rollout/apply_manifest.sql
  execute $pgflow_file$-- core/60_rollout/apply_manifest.sql
-- Ends a deployment: gives every manifest function the final state that it declares,
-- in one statement, and returns them. What happened to be enabled before plays no
-- part. Applying again is the same; pauses from before the fence are cleared.
-- Refused, by name, while old code could come back (_workers_of_other_code), a guard
-- paused a function after the fence, a function is not there, not fenced or in a later
-- deployment, a consumer of an affected queue is not in the manifest, or a retired function would
-- leave work without a worker.
-- Locks: the manifest's row, then function rows by name; the tests come after that.
-- Errors: 42704 unknown deployment; 55000 refused.
-- Callers: operators (pgflowctl rollout).
create function pgflow.apply_manifest(deployment text)
returns table (function_name text, enabled boolean)
language plpgsql
set search_path = ''
as $$
#variable_conflict use_column
declare
  loaded pgflow.deployment_manifest := pgflow._require_manifest(deployment);
begin
  perform from pgflow.worker_functions f
  where f.function_name in (select e.function_name from pgflow._manifest_entries(loaded.manifest) as e)
  order by f.function_name
  for update;

  perform pgflow._raise_manifest_problems(
    loaded.deployment, array(select * from pgflow._unready_functions(loaded)),
    format('Fence first: select pgflow.fence_manifest(%L). After a pause, repair what it names and fence again. What '
           'belongs to a later deployment is left to that one, or fenced again to come back to this one.',
           loaded.deployment));
  perform pgflow._raise_manifest_problems(
    loaded.deployment, array(select * from pgflow._left_out_functions(loaded.manifest)),
    'Load a manifest that names it, under another deployment name.');
  perform pgflow._raise_manifest_problems(
    loaded.deployment, array(select * from pgflow._workers_of_other_code(loaded)),
    'Stop those processes, then select pgflow.deprecate_workers(...) for their functions.');
  perform pgflow._raise_manifest_problems(
    loaded.deployment, array(select * from pgflow._work_left_behind(loaded.manifest)),
    'Keep its workers until pgflow.drain_status(...) of those flows says safe_to_retire.');

  update pgflow.deployment_manifest d set applied_at = clock_timestamp() where d.deployment = loaded.deployment;
  return query
  update pgflow.worker_functions f
  set enabled = e.enabled, paused_at = null, pause_reason = null, updated_at = clock_timestamp()
  from pgflow._manifest_entries(loaded.manifest) as e
  where f.function_name = e.function_name
  returning f.function_name, f.enabled;
end
$$;
$pgflow_file$;
  -- core/60_rollout/fence_manifest.sql
  execute $pgflow_file$-- core/60_rollout/fence_manifest.sql
-- Begins a deployment: inserts every manifest function that has no row, disabled,
-- with its start mode (existing rows untouched), disables all that are replaced, in
-- one statement, and notes the time: a guard that pauses a function later holds up
-- apply_manifest. Workers are deprecated in a transaction of its own after this.
-- Repeating it fences again, from now.
-- Locks: the manifest's row, then function rows by name.
-- Errors: 42704 unknown deployment.
-- Callers: operators (pgflowctl rollout).
create function pgflow.fence_manifest(deployment text)
returns pgflow.deployment_manifest
language plpgsql
set search_path = ''
as $$
declare
  loaded pgflow.deployment_manifest := pgflow._require_manifest(deployment);
  -- Before the disable: a guard's pause of another function meanwhile is after it.
  moment timestamptz := clock_timestamp();
begin
  perform pgflow.insert_worker_function(e.function_name, e.start_mode)
  from (select * from pgflow._manifest_entries(loaded.manifest) order by function_name) as e;

  perform pgflow.disable_worker_functions(array(
    select e.function_name
    from pgflow._manifest_entries(loaded.manifest) as e
    where e.action = 'replace'
    order by e.function_name));

  update pgflow.deployment_manifest d set fenced_at = moment
  where d.deployment = loaded.deployment
  returning d.* into loaded;
  return loaded;
end
$$;
$pgflow_file$;
  -- core/60_rollout/load_manifest.sql
  execute $pgflow_file$-- core/60_rollout/load_manifest.sql
-- Loads the manifest of a deployment, {deployment, scope, entries: [{functionName,
-- serves: {flow | queue}, action, enabled, startMode, modules}]}, and returns its
-- row. Loading the same again changes nothing; another one of the same name
-- replaces it until it is fenced or applied. Old manifests stay, for audit.
-- Locks: the manifest's row.
-- Errors: 22023 not valid; 55000 a consumer of an affected queue is left out, a
--         replaced or kept function serves what does not exist, or the deployment has begun.
-- Callers: operators (pgflowctl rollout).
create function pgflow.load_manifest(manifest jsonb)
returns pgflow.deployment_manifest
language plpgsql
set search_path = ''
as $$
declare
  problems text[] := array(select * from pgflow._manifest_problems(manifest));
  loaded pgflow.deployment_manifest;
begin
  perform pgflow._raise_problems(
    format('manifest "%s" is not valid', coalesce(manifest ->> 'deployment', '(none)')), problems,
    'invalid_parameter_value', 'docs/operations/rollout.md says what each field must be.');
  perform pgflow._raise_manifest_problems(
    manifest ->> 'deployment', array(select * from pgflow._unknown_services(manifest)),
    'Give the concrete slug of a compiled flow, or the queue that the function serves: the tables pgflow.flows and '
    'pgflow.queues list them.');
  perform pgflow._raise_manifest_problems(
    manifest ->> 'deployment', array(select * from pgflow._left_out_functions(manifest)),
    'Every function that consumes an affected queue needs an entry; "scope": "handler" leaves out the other queues '
    'of the same flows.');

  insert into pgflow.deployment_manifest as d (deployment, manifest)
  values (load_manifest.manifest ->> 'deployment', load_manifest.manifest)
  on conflict on constraint deployment_manifest_pkey do update
  set manifest = excluded.manifest, loaded_at = clock_timestamp()
  where d.manifest <> excluded.manifest and d.fenced_at is null and d.applied_at is null;

  select d.* into loaded
  from pgflow.deployment_manifest d
  where d.deployment = load_manifest.manifest ->> 'deployment';
  if loaded.manifest <> load_manifest.manifest then
    perform pgflow._raise_manifest_problems(
      loaded.deployment, array['its deployment has begun, with another manifest'],
      'Give the changed manifest a deployment name of its own.');
  end if;
  return loaded;
end
$$;
$pgflow_file$;
  -- core/60_rollout/manifest_coverage.sql
  execute $pgflow_file$-- core/60_rollout/manifest_coverage.sql
-- Whether every queue that a manifest's enabled functions serve is well served: one
-- row a queue.
--
-- live_workers       live and working on it, not told to stop, of whatever function
-- oldest_heartbeat   of those: all younger than 15 s; null without one
-- covered            there is one, and every one of them runs every expected pair
-- gaps               why not, as readable lines; a held pair is a missing one
-- A flow of an added function is expected although no run of it exists yet; a flow
-- that does not exist has no queues, and its entry answers as one row without queue.
-- Locks: none. Errors: 42704 unknown deployment.
-- Callers: operators, rollout_status.
create function pgflow.manifest_coverage(deployment text)
returns table (queue_name text, live_workers bigint, oldest_heartbeat interval, covered boolean, gaps text[])
language sql
stable
set search_path = ''
as $$
  with entries as (
    select * from pgflow.manifest_entries(manifest_coverage.deployment) as e where e.enabled
  ),
  expected as materialized (
    select * from pgflow._expected_pairs(manifest_coverage.deployment)
  ),
  queues as (
    select e.queue_name from entries e where e.queue_name is not null
    union
    select x.queue_name from expected x
  ),
  working as materialized (
    select q.queue_name, w.worker_id, w.function_name, w.last_heartbeat_at
    from queues q
    join pgflow.workers w on lower(w.queue_name) = q.queue_name
    where w.stopped_at is null and pgflow._is_live(w) and not w.standby
      and not pgflow._must_stop(w.worker_id, w.function_name)
  ),
  lines as (
    select q.queue_name, format('queue "%s" has no live worker', q.queue_name) as line
    from queues q
    where q.queue_name not in (select w.queue_name from working w)
    union all
    select w.queue_name, format('queue "%s": worker %s of function "%s" does not run %s %s', w.queue_name, w.worker_id,
             w.function_name, case when count(*) > 1 then 'steps' else 'step' end, string_agg(format('"%s" of flow "%s"', x.step_slug, x.flow_slug), ', '
                                         order by x.flow_slug, x.step_slug))
    from working w
    join expected x on x.queue_name = w.queue_name
    where not exists (
      select from pgflow.worker_task_pairs p
      where p.worker_id = w.worker_id and p.flow_slug = x.flow_slug and p.step_slug = x.step_slug and not p.held)
    group by w.queue_name, w.worker_id, w.function_name
  ),
  answers as (
    select q.queue_name, count(w.worker_id) as live_workers,
           max(greatest(clock_timestamp() - w.last_heartbeat_at, interval '0')) as oldest_heartbeat,
           array(select l.line from lines l where l.queue_name = q.queue_name order by 1) as gaps
    from queues q
    left join working w on w.queue_name = q.queue_name
    group by q.queue_name
    union all
    select null, 0, null, array[format(
             case when e.action = 'add' then 'flow "%s" of function "%s" is not compiled yet: no worker of it has started'
               else 'flow "%s" of function "%s" does not exist any more' end,
             e.flow_slug, e.function_name)]
    from entries e
    where e.flow_slug is not null and not exists (select from pgflow.flows f where f.flow_slug = e.flow_slug)
  )
  select a.queue_name, a.live_workers, a.oldest_heartbeat, a.gaps = '{}', a.gaps
  from answers a
  order by a.queue_name, a.gaps
$$;
$pgflow_file$;
  -- core/60_rollout/manifest_entries.sql
  execute $pgflow_file$-- core/60_rollout/manifest_entries.sql
-- The entries of a loaded manifest, in its order: what the guide's statements are
-- driven by. modules are in lower case; exactly one of flow_slug and queue_name is set.
-- Locks: none. Errors: 42704 unknown deployment.
-- Callers: operators, the other functions that look at a rollout.
create function pgflow.manifest_entries(deployment text)
returns table (
  function_name text,
  flow_slug text,
  queue_name text,
  action text,
  enabled boolean,
  start_mode text,
  modules text[]
)
language plpgsql
stable
set search_path = ''
as $$
#variable_conflict use_column
declare
  loaded pgflow.deployment_manifest := pgflow._find_manifest(deployment);
begin
  return query
  select e.function_name, e.flow_slug, e.queue_name, e.action, e.enabled, e.start_mode, e.modules
  from pgflow._manifest_entries(loaded.manifest) as e;
end
$$;
$pgflow_file$;
  -- core/60_rollout/manifest_problems.sql
  execute $pgflow_file$-- core/60_rollout/manifest_problems.sql
-- Why load_manifest would refuse a manifest, as readable lines; none: it would load
-- it. Nothing is written.
-- Locks: none. Callers: operators (pgflowctl rollout check).
create function pgflow.manifest_problems(manifest jsonb)
returns setof text
language plpgsql
stable
set search_path = ''
as $$
begin
  return query select p.line from pgflow._manifest_problems(manifest) as p (line);
  if found then
    return;
  end if;
  return query
  select p.line from pgflow._unknown_services(manifest) as p (line)
  union all
  select p.line from pgflow._left_out_functions(manifest) as p (line)
  union all
  select 'its deployment has begun, with another manifest: give this one a name of its own'
  from pgflow.deployment_manifest d
  where d.deployment = manifest_problems.manifest ->> 'deployment'
    and d.manifest <> manifest_problems.manifest
    and (d.fenced_at is not null or d.applied_at is not null);
end
$$;
$pgflow_file$;
  -- core/60_rollout/manifest_workers.sql
  execute $pgflow_file$-- core/60_rollout/manifest_workers.sql
-- Every worker row of a manifest's functions that matters to its rollout: those that
-- are not stopped, and stopped ones that still hold a started task.
--
-- state            working: takes tasks unless it is fenced; standby; stopped
-- deprecated       it claims nothing any more
-- live             not stopped, not deprecated, heartbeat younger than 15 s
-- gone             stopped, or silent for 30 s
-- started_tasks    tasks in its hands: a handler of it may still be running
-- right_modules    it carries exactly the modules of its entry; null: the entry names none
-- host, pid, modules [{flow, file, buildId, sha256}]: where to find that process
-- Locks: none. Errors: 42704 unknown deployment.
-- Callers: operators, rollout_status.
create function pgflow.manifest_workers(deployment text)
returns table (
  function_name text,
  action text,
  worker_id uuid,
  queue_name text,
  started_at timestamptz,
  state text,
  deprecated boolean,
  live boolean,
  gone boolean,
  silent_for interval,
  started_tasks bigint,
  right_modules boolean,
  host text,
  pid text,
  modules jsonb
)
language sql
stable
set search_path = ''
as $$
  with held as (
    select t.last_worker_id, count(*) as tasks
    from pgflow.step_tasks t
    where t.status = 'started'
    group by t.last_worker_id
  )
  select e.function_name, e.action, w.worker_id, w.queue_name, w.started_at,
         case when w.stopped_at is not null then 'stopped' when w.standby then 'standby' else 'working' end,
         w.deprecated_at is not null, pgflow._is_live(w), pgflow._is_gone(w),
         greatest(clock_timestamp() - w.last_heartbeat_at, interval '0'), coalesce(h.tasks, 0),
         case when e.modules <> '{}' then pgflow._carries_exactly(w.info -> 'modules', e.modules) end,
         w.info ->> 'host', w.info ->> 'pid', coalesce(w.info -> 'modules', '[]')
  from pgflow.manifest_entries(manifest_workers.deployment) as e
  join pgflow.workers w on w.function_name = e.function_name
  left join held h on h.last_worker_id = w.worker_id
  where w.stopped_at is null or h.tasks > 0
  order by e.function_name, w.started_at, w.worker_id
$$;
$pgflow_file$;
  -- core/60_rollout/rollout_status.sql
  execute $pgflow_file$-- core/60_rollout/rollout_status.sql
-- Which step a rollout is at, and what it waits for: one row a step of the guide
-- (docs/operations/rollout.md), in order. Steps 3 and 4 are for a manifest that
-- replaces; 8 to 10 wait for nothing where no old version is left.
--
-- state       done; now: the one to do; later
-- waits_for   readable lines; the statement to run where it is the operator's turn
-- Looked at afresh each time: a step may fall back, as when a worker dies.
-- Locks: none. Errors: 42704 unknown deployment.
-- Callers: operators (pgflowctl rollout status).
create function pgflow.rollout_status(deployment text)
returns table (step int, name text, state text, waits_for text[])
language plpgsql
stable
set search_path = ''
as $$
#variable_conflict use_column
declare
  loaded pgflow.deployment_manifest := pgflow._find_manifest(deployment);
  replaces boolean := exists (
    select from pgflow._manifest_entries(loaded.manifest) as e where e.action = 'replace');
begin
  return query
  with waits as materialized (
    select * from pgflow._fence_waits(loaded)
    union all
    select * from pgflow._service_waits(loaded)
  ),
  steps (step, name, is_needed) as (
    values (1, 'load', true), (2, 'fence', true), (3, 'deprecate', replaces), (4, 'wait', replaces), (5, 'deploy', true),
           (6, 'apply', true), (7, 'confirm', true), (8, 'switch', true), (9, 'drain', true), (10, 'retire', true)
  ),
  lines as (
    select s.step, s.name, array(select w.line from waits w where w.step = s.step) as waits_for
    from steps s
    where s.is_needed
  ),
  turn as (
    select coalesce(min(l.step), 11) as step from lines l where l.waits_for <> '{}'
  )
  select l.step, l.name, case when l.step < t.step then 'done' when l.step = t.step then 'now' else 'later' end, l.waits_for
  from lines l, turn t
  order by l.step;
end
$$;
$pgflow_file$;
  -- core/90_roles/_api_grants.sql
  execute $pgflow_file$-- core/90_roles/_api_grants.sql
-- Who may call what: one row a function of the API and role. Functions whose name
-- starts with _ are internal and granted to nobody.
--
-- pgflow_worker    what a host calls, and nothing else
-- pgflow_client    starts runs and looks at one by its id, which is the secret
-- pgflow_operator  the rest, and what both sides need to look at the system
--
-- Callers: _apply_roles and its tests.
create function pgflow._api_grants()
returns table (routine regprocedure, role_name text)
language sql
stable
set search_path = ''
as $$
  with api as (
    select p.oid::regprocedure as routine, p.proname as name
    from pg_proc p
    where p.pronamespace = 'pgflow'::regnamespace and p.proname !~ '^_'
  ),
  worker (name) as (
    values
      ('ensure_deployment'), ('offer_activation'),
      ('track_worker_function'), ('worker_function_state'), ('register_worker'), ('heartbeat'),
      ('mark_worker_stopped'),
      ('queue_coverage'), ('missing_coverage'), ('drain_status'), ('draining_runs'), ('queue_stats'),
      ('host_status'), ('schema_version'),
      ('claim_tasks'), ('read_and_claim_tasks'), ('finish_tasks'), ('release_tasks'), ('release_tasks_except'),
      ('warm_up'), ('maintain')
  ),
  client (name) as (
    values ('start_flow'), ('start_flows'), ('start_flow_with_states'), ('get_run_with_states')
  ),
  shared (name) as (
    values
      ('worker_function_state'), ('queue_coverage'), ('missing_coverage'), ('drain_status'), ('draining_runs'),
      ('queue_stats'), ('host_status'), ('schema_version')
  )
  select a.routine, 'pgflow_worker' from api a join worker w using (name)
  union all
  select a.routine, 'pgflow_client' from api a join client c using (name)
  union all
  select a.routine, 'pgflow_operator'
  from api a
  where a.name in (select s.name from shared s)
     or (a.name not in (select w.name from worker w) and a.name not in (select c.name from client c))
$$;
$pgflow_file$;
  -- core/90_roles/_apply_roles.sql
  execute $pgflow_file$-- core/90_roles/_apply_roles.sql
-- Puts the whole security model in place: the three roles, security definer on every
-- function that one of them may call, and exactly the grants of _api_grants on
-- functions; USAGE on the schema; SELECT on flows and steps for clients and on
-- everything for operators. PUBLIC has nothing. Repeatable; every migration that
-- adds a table or function ends with it.
--
-- Functions run with the rights of the owner of the schema and record session_user.
-- They are written for an empty search_path and run with pg_catalog, pg_temp: an empty
-- one looks for types and tables in pg_temp first, where any session may put a domain
-- named text whose check is its own function. That holds for internal functions too,
-- and for those of the embedded queue: the path of the innermost function counts.
-- Locks: the catalog rows of the schemas pgflow and pgmq.
-- Callers: migrations; the owner, after the roles were made by somebody else.
create function pgflow._apply_roles()
returns void
language plpgsql
set search_path = ''
as $$
declare
  missing text[] := pgflow._create_roles();
  present text[] := array(
    select n.name from unnest(array['pgflow_worker', 'pgflow_client', 'pgflow_operator']) as n (name)
    where n.name <> all (missing));
  statement text;
begin
  for statement in
    select format('alter function %s set search_path = pg_catalog, pg_temp', p.routine)
    from pgflow._own_functions() as p (routine)
    union all
    select format('alter function %s security definer', g.routine)
    from (select distinct routine from pgflow._api_grants()) as g
    union all
    select format(s.template, 'public') from pgflow._revocations() as s (template)
    union all
    select format(s.template, quote_ident(p.name))
    from unnest(present) as p (name), pgflow._revocations() as s (template)
    union all
    select format('grant usage on schema pgflow to %I', p.name) from unnest(present) as p (name)
    union all
    select format('grant execute on function %s to %I', g.routine, g.role_name)
    from pgflow._api_grants() as g
    where g.role_name = any (present)
    union all
    select format(t.template, t.role_name)
    from (values
      ('grant select on pgflow.flows, pgflow.steps to %I', 'pgflow_client'),
      ('grant select on all tables in schema pgflow to %I', 'pgflow_operator')) as t (template, role_name)
    where t.role_name = any (present)
  loop
    execute statement;
  end loop;
end
$$;
$pgflow_file$;
  -- core/90_roles/_create_roles.sql
  execute $pgflow_file$-- core/90_roles/_create_roles.sql
-- Creates the roles that are missing; they cannot log in and are granted to those
-- that do. Returns the ones that are still missing, because the caller may not
-- create roles: a warning with the statements, so that an installation without
-- that right works for its owner.
-- Locks: none; two databases of one cluster may do this at once.
-- Callers: _apply_roles.
create function pgflow._create_roles()
returns text[]
language plpgsql
set search_path = ''
as $$
declare
  role_name text;
  missing text[] := '{}'::text[];
begin
  foreach role_name in array array['pgflow_worker', 'pgflow_client', 'pgflow_operator'] loop
    if to_regrole(role_name) is not null then
      continue;
    end if;
    begin
      execute format('create role %I nologin', role_name);
    exception
      when insufficient_privilege then
        missing := missing || role_name;
      when duplicate_object or unique_violation then
        null;
    end;
  end loop;

  if missing <> '{}' then
    raise warning 'roles missing, and "%" may not create roles: %', current_user, array_to_string(missing, ', ')
      using hint = format(e'As a role that may: %s\nThen, as "%s": select pgflow._apply_roles();',
        (select string_agg(format('create role %I nologin;', m.name), ' ') from unnest(missing) as m (name)),
        current_user);
  end if;
  return missing;
end
$$;
$pgflow_file$;
  -- core/90_roles/_own_functions.sql
  execute $pgflow_file$-- core/90_roles/_own_functions.sql
-- The functions that this project made: those of schema pgflow, and those of schema
-- pgmq that have the same owner and do not belong to the extension.
-- Callers: _apply_roles and its tests.
create function pgflow._own_functions()
returns setof regprocedure
language sql
stable
set search_path = ''
as $$
  select p.oid::regprocedure
  from pg_catalog.pg_proc p
  join pg_catalog.pg_namespace n on n.oid = p.pronamespace
  where n.nspname in ('pgflow', 'pgmq')
    and p.proowner = (select o.nspowner from pg_catalog.pg_namespace o where o.nspname = 'pgflow')
    and not exists (
      select from pg_catalog.pg_depend d
      where d.classid = 'pg_catalog.pg_proc'::regclass and d.objid = p.oid and d.deptype = 'e')
$$;
$pgflow_file$;
  -- core/90_roles/_revocations.sql
  execute $pgflow_file$-- core/90_roles/_revocations.sql
-- What takes every right on schema pgflow from a role, as templates of statements.
-- Callers: _apply_roles.
create function pgflow._revocations()
returns setof text
language sql
stable
set search_path = ''
as $$
  select 'revoke all on schema pgflow from %s'
  union all
  select 'revoke all on all tables in schema pgflow from %s'
  union all
  select 'revoke all on all sequences in schema pgflow from %s'
  union all
  select 'revoke all on all routines in schema pgflow from %s'
  union all
  select format('revoke all on type %s from %%s', t.oid::regtype)
  from pg_type t
  left join pg_class c on c.oid = t.typrelid
  where t.typnamespace = 'pgflow'::regnamespace and t.typtype in ('c', 'e', 'd')
    and coalesce(c.relkind, 'c') = 'c'
$$;
$pgflow_file$;
  -- core/90_roles/zz_apply_roles.sql
  execute $pgflow_file$-- core/90_roles/zz_apply_roles.sql
-- The last step of the installation.
do $$
begin
  perform pgflow._apply_roles();
end
$$;
$pgflow_file$;
  insert into pgflow.schema_migrations (version, oldest_host, name)
  values (1, 1, 'core');
end
$pgflow_migration$;
