-- The table layout and signatures of PGMQ 1.5 that clients and dashboards use.
begin;
select plan(17);
select pgmq.create('layout');

select columns_are('pgmq', 'q_layout',
  array['msg_id', 'read_ct', 'enqueued_at', 'vt', 'message', 'headers'], 'live table');
select columns_are('pgmq', 'a_layout',
  array['msg_id', 'read_ct', 'enqueued_at', 'archived_at', 'vt', 'message', 'headers'], 'archive table');
select columns_are('pgmq', 'meta',
  array['queue_name', 'is_partitioned', 'is_unlogged', 'created_at'], 'meta table');
select col_type_is('pgmq', 'q_layout', 'msg_id', 'bigint', 'msg_id is a bigint');
select col_type_is('pgmq', 'q_layout', 'vt', 'timestamp with time zone', 'vt is a timestamptz');
select col_is_pk('pgmq', 'q_layout', 'msg_id', 'msg_id is the key of the live table');
select is((select attidentity::text from pg_attribute where attrelid = 'pgmq.q_layout'::regclass and attname = 'msg_id'),
  'a', 'msg_id is an identity');
select has_index('pgmq', 'q_layout', 'q_layout_vt_idx', array['vt'], 'vt is indexed');
select is((select string_agg(a.attname || ' ' || format_type(a.atttypid, null), ', ' order by a.attnum)
           from pg_attribute a where a.attrelid = 'pgmq.message_record'::regclass),
  'msg_id bigint, read_ct integer, enqueued_at timestamp with time zone, vt timestamp with time zone, message jsonb, headers jsonb',
  'message_record');
select has_function('pgmq', 'read', array['text', 'integer', 'integer', 'jsonb'], 'read');
select has_function('pgmq', 'read_with_poll', array['text', 'integer', 'integer', 'integer', 'integer', 'jsonb'], 'read_with_poll');
select has_function('pgmq', 'send', array['text', 'jsonb', 'jsonb', 'timestamp with time zone'], 'send at a moment');
select has_function('pgmq', 'send_batch', array['text', 'jsonb[]', 'jsonb[]', 'integer'], 'send_batch with a delay');
select function_returns('pgmq', 'archive', array['text', 'bigint'], 'boolean', 'archive of one');
select function_returns('pgmq', 'delete', array['text', 'bigint[]'], 'setof bigint', 'delete of many');
select matches(obj_description('pgmq'::regnamespace), 'CREATE EXTENSION pgmq fails',
  'the schema says what to do about the real extension');

select is_empty($$ select c.oid::regclass from pg_class c where c.relnamespace in ('pgmq'::regnamespace, 'pgflow'::regnamespace)
    and c.relkind in ('r', 'p') and (c.relreplident = 'n' or c.relreplident = 'd' and not exists (
      select from pg_index i where i.indrelid = c.oid and i.indisprimary)) $$,
  'every table has a replica identity, so that it can be published');

select * from finish();
rollback;
