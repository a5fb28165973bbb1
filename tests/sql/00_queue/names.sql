begin;
select plan(18);

select is(pgmq.format_table_name('Some_Queue', 'q'), 'q_some_queue', 'table names are lower case');
select is(pgmq.format_table_name('a-b', 'a'), 'a_a-b', 'hyphens are kept');
select throws_ok($$select pgmq.format_table_name('a;b', 'q')$$, '22023', null, 'a semicolon is refused');
select throws_ok($$select pgmq.format_table_name('a--b', 'q')$$, '22023', null, 'two hyphens are refused');
select throws_ok($$select pgmq.format_table_name('a$b', 'q')$$, '22023', null, 'a dollar sign is refused');
select throws_ok($$select pgmq.format_table_name('a''b', 'q')$$, '22023',
  'queue name contains invalid characters: a''b', 'a quote is refused, the name is shown');

select lives_ok(format('select pgmq.create(%L)', repeat('x', 47)), 'a name of 47 bytes is accepted');
select throws_ok(format('select pgmq.create(%L)', repeat('x', 48)), '22023', null, 'one of 48 is refused');
select throws_ok(format('select pgmq.create(%L)', repeat('é', 24)), '22023', null, 'bytes count, not characters');
select throws_ok($$select pgmq.create('')$$, '22023', 'queue name is empty', 'an empty name is refused');

select pgmq.create('Orders');
select lives_ok($$select pgmq.create('Orders')$$, 'creating a queue again changes nothing');
select throws_ok($$select pgmq.create('ORDERS')$$, '42710', 'queue "ORDERS" exists as "Orders"',
  'two spellings of one table are refused');
select results_eq($$select queue_name::text, is_partitioned, is_unlogged from pgmq.list_queues() where lower(queue_name) = 'orders'$$,
  $$values ('Orders', false, false)$$, 'a queue is listed in its own spelling');
select has_table('pgmq', 'q_orders', 'the live table is lower case');
select has_table('pgmq', 'a_orders', 'so is the archive');
select ok(pgmq.drop_queue('orders'), 'any spelling drops the queue');
select hasnt_table('pgmq', 'q_orders', 'and its tables');
select ok(not pgmq.drop_queue('orders'), 'dropping it again answers false');

select * from finish();
rollback;
