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
