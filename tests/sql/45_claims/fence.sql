-- Who may claim, and the claim that finds nothing.
begin;
select plan(28);
select pgflow_test.chain('f');
select pgflow.register_worker(pgflow_test.w(1), 'f', 'fn', pgflow_test.pairs('f/a'));
select pgflow.start_flow('f', '{}');
create function pg_temp.claim(worker uuid, queue text default 'f') returns text language sql as
  $$ select concat_ws(' ', outcome, reason) from pgflow.read_and_claim_tasks(queue, 10, 5, worker) $$;
create function pg_temp.claim_ids(worker uuid) returns text language sql as
  $$ select concat_ws(' ', outcome, reason) from pgflow.claim_tasks('f', '{1}', worker, pgflow_test.pairs('f/a')) $$;

select is(pg_temp.claim(pgflow_test.w(99)), 'fenced unknown', 'a worker without a row');
select is(pg_temp.claim_ids(pgflow_test.w(99)), 'fenced unknown', 'a worker without a row, by ids');
update pgflow.workers set deprecated_at = clock_timestamp();
select is(pg_temp.claim(pgflow_test.w(1)), 'fenced deprecated', 'a deprecated one');
select is(pg_temp.claim_ids(pgflow_test.w(1)), 'fenced deprecated', 'a deprecated one, by ids');
update pgflow.workers set stopped_at = clock_timestamp();
select is(pg_temp.claim(pgflow_test.w(1)), 'fenced deprecated', 'deprecation is named before the stop');
update pgflow.workers set deprecated_at = null;
select is(pg_temp.claim(pgflow_test.w(1)), 'fenced stopped', 'a stopped one');
update pgflow.workers set stopped_at = null, standby = true;
select is(pg_temp.claim(pgflow_test.w(1)), 'fenced standby', 'one that stands by');
update pgflow.workers set standby = false, queue_name = 'other';
select is(pg_temp.claim(pgflow_test.w(1)), 'fenced other_queue', 'one of another queue');
update pgflow.workers set queue_name = 'F';
select pgflow.disable_worker_functions('{fn}');
select is(pg_temp.claim(pgflow_test.w(1)), 'fenced must_stop', 'one that must stop');
select is(pg_temp.claim_ids(pgflow_test.w(1)), 'fenced must_stop', 'one that must stop, by ids');
select results_eq('select read_ct, vt <= clock_timestamp() from pgmq.q_f', 'values (0, true)', 'nothing was read by any of them');
select pgflow.enable_worker_function('fn');
update pgflow.workers set last_heartbeat_at = '2020-01-01';
select is(pg_temp.claim(pgflow_test.w(1)), 'started', 'a silent worker that nobody fenced may go on; names differ by case only');

-- empty
create function pg_temp.empty() returns table (outcome text, due_in_ms bigint) language sql as
  $$ select outcome, due_in_ms from pgflow.read_and_claim_tasks('f', 10, 5, pgflow_test.w(1)) $$;
select ok((select outcome = 'empty' and due_in_ms between 60000 and 62000 from pg_temp.empty()), 'empty says when a leased message is due');
select pgmq.send('f', '{}', 10);
select ok((select due_in_ms between 8000 and 10000 from pg_temp.empty()), 'or a delayed one, whichever is first');
select pgmq.purge_queue('f');
select results_eq('select * from pg_temp.empty()', $$values ('empty', null::bigint)$$, 'an empty queue has nothing due');
select results_eq($$select queue_name, msg_id, reason from pgflow.read_and_claim_tasks('F', 1, 5, pgflow_test.w(1))$$,
  $$values ('f', null::bigint, null::text)$$, 'the row names the queue');

select pgmq.send('f', '{}'::jsonb, 'infinity'::timestamptz);
select results_eq('select * from pg_temp.empty()', $$values ('empty', null::bigint)$$, 'a message that is put off for ever is never due');
select pgmq.send('f', '{}'::jsonb, '-infinity'::timestamptz);
select is((select outcome from pg_temp.empty()), 'foreign', 'one that was always due is seen');

-- errors
select throws_ok($$select pgflow.read_and_claim_tasks('f', 0, 5, pgflow_test.w(1))$$, '22023', null, 'qty 0 is refused');
select throws_ok($$select pgflow.read_and_claim_tasks('f', null, 5, pgflow_test.w(1))$$, '22023', null, 'and none');
select throws_ok($$select pgflow.read_and_claim_tasks('f', 1, -1, pgflow_test.w(1))$$, '22023', null, 'so is a negative visibility');
select pgmq.drop_queue('f');
select throws_ok($$select pgflow.read_and_claim_tasks('f', 1, 5, pgflow_test.w(1))$$, '42P01', 'queue "f" does not exist',
  'a queue dropped behind our back is named');
select results_eq($$select outcome, reason from pgflow.read_and_claim_tasks('nowhere', 1, 5, pgflow_test.w(1))$$,
  $$values ('fenced', 'other_queue')$$, 'the fence comes first');
select pgflow.disable_worker_functions('{fn}');
select is(pg_temp.claim(pgflow_test.w(1)), 'fenced must_stop', 'and so it does for a disabled function of a queue that is gone');
select pgflow.enable_worker_function('fn');
insert into pgflow.function_pins (function_name, deployment, queue_name, module_sets) values ('fn', 'd', 'f', '[["m"]]');
select is(pg_temp.claim(pgflow_test.w(1)), 'fenced must_stop', 'and for a pin, of which this worker knows nothing');
update pgflow.workers set info = info || '{"protocol": 2}' where worker_id = pgflow_test.w(1);
select is(pg_temp.claim(pgflow_test.w(1)), 'fenced wrong_modules', 'or does');

-- a delayed start
select pgflow.create_flow('g'), pgflow.add_step('g', 'late', start_delay => 3600);
select pgflow.register_worker(pgflow_test.w(2), 'g', 'gn', pgflow_test.pairs('g/late'));
select pgflow.start_flow('g', '{}');
select ok((select outcome = 'empty' and due_in_ms between 3590000 and 3600000 from pgflow.read_and_claim_tasks('g', 1, 5, pgflow_test.w(2))),
  'a step with a start delay is not due before');
select pgflow_test.show_all('g');
select is((select outcome from pgflow.read_and_claim_tasks('g', 1, 5, pgflow_test.w(2))), 'started', 'and then is');

select * from finish();
rollback;
