-- A round of maintenance reads as much behind 20,000 waiting tasks as behind 20; a loss costs its share.
begin;
select plan(4);
select pgflow_test.chain('f', '{a}');

-- Rows read by this transaction from tasks and messages, through any index or none.
create function pg_temp.rows_read() returns bigint language sql as $$
  select sum(pg_stat_get_xact_tuples_returned(c.oid) + pg_stat_get_xact_tuples_fetched(c.oid))::bigint
  from pg_class c left join pg_index i on i.indexrelid = c.oid
  where coalesce(i.indrelid, c.oid) in ('pgflow.step_tasks'::regclass, 'pgflow.lost_messages'::regclass, 'pgmq.q_f'::regclass)
$$;
create function pg_temp.cost() returns bigint language plpgsql as $$
declare
  before bigint := pg_temp.rows_read();
begin
  perform pgflow.maintain();
  return pg_temp.rows_read() - before;
end $$;
create temporary table cost (name text primary key, rows bigint);

select count(*) from pgflow.start_flows('f', array_fill('{}'::jsonb, array[20]));
select pgflow.maintain();
insert into cost select 'few', pg_temp.cost();
select count(*) from pgflow.start_flows('f', array_fill('{}'::jsonb, array[20000]));
insert into cost select 'many', pg_temp.cost();
delete from pgmq.q_f where msg_id in (select msg_id from pgmq.q_f order by msg_id offset 10000 limit 50);
insert into cost select 'fifty lost', pg_temp.cost();
select pgmq.purge_queue('f');
insert into cost select 'all lost', pg_temp.cost();
-- What a round does not get done in its time is for the next.
do $$ begin while exists (select from pgflow.lost_messages) loop perform pgflow.maintain(); end loop; end $$;

select cmp_ok((select c.rows from cost c where name = 'many'), '<=', (select c.rows + 10 from cost c where name = 'few'),
  'healthy tasks are not looked at');
select cmp_ok((select c.rows from cost c where name = 'fifty lost'), '<=', 50 * 20::bigint, 'fifty that are lost cost some rows each');
select cmp_ok((select c.rows from cost c where name = 'all lost'), '<=', 20020 * 20::bigint, 'so do twenty thousand');
select is((select count(*) from pgflow.step_tasks t join pgmq.q_f m on m.msg_id = t.message_id where t.queue_name = 'f' and t.status = 'queued'),
  20020::bigint, 'and all have a message');
select diag(format('rows read: %s', string_agg(format('%s %s', name, rows), ', '))) from cost;

select * from finish();
rollback;
