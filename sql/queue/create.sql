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
