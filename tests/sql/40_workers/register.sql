begin;
select plan(39);
select pgflow.track_worker_function('fn', 'process');

select is(pgflow.register_worker(pgflow_test.w(1), 'Queue_A', 'fn', pgflow_test.pairs('f/a', 'f/b', 'f/a'), '{"pid": 7}', held => pgflow_test.pairs('f/b')),
  'registered', 'a worker registers');
select results_eq($$select queue_name, function_name, standby, info from pgflow.workers where worker_id = pgflow_test.w(1)$$,
  $$values ('queue_a', 'fn', false, '{"pid": 7}'::jsonb)$$, 'its row has the canonical queue name');
select results_eq($$select flow_slug, step_slug, held from pgflow.worker_task_pairs where worker_id = pgflow_test.w(1) order by 1, 2$$,
  $$values ('f', 'a', false), ('f', 'b', true)$$, 'its pairs once each, with those it holds back');
select is(pgflow.register_worker(pgflow_test.w(1), 'queue_a', 'fn', pgflow_test.pairs('f/c')), 'registered',
  'the same id again is a retry');
select results_eq($$select step_slug from pgflow.worker_task_pairs where worker_id = pgflow_test.w(1)$$, $$values ('c')$$,
  'that replaces its pairs');
select is(pgflow.register_worker(pgflow_test.w(2), 'QUEUE_A', 'fn', pgflow_test.pairs('f/a')), 'registered',
  'another worker of the function on the same queue is fine');

-- other_queue
select is(pgflow.register_worker(pgflow_test.w(3), 'queue_b', 'fn', pgflow_test.pairs('f/a')), 'other_queue',
  'a function with a live worker on another queue is refused');
select is((select count(*) from pgflow.workers where worker_id = pgflow_test.w(3)), 0::bigint, 'without a row');
select is(pgflow.register_worker(pgflow_test.w(4), 'queue_b', 'fn2', pgflow_test.pairs('f/a')), 'registered',
  'another function may');
select is((select start_mode from pgflow.worker_functions where function_name = 'fn2'), 'process',
  'an untracked function is tracked as process');
update pgflow.workers set last_heartbeat_at = '2020-01-01' where function_name = 'fn';
select is(pgflow.register_worker(pgflow_test.w(3), 'queue_b', 'fn', pgflow_test.pairs('f/a')), 'registered',
  'workers that are silent do not count');
select pgflow.mark_worker_stopped(pgflow_test.w(3));
update pgflow.workers set last_heartbeat_at = clock_timestamp() where worker_id = pgflow_test.w(1);
select is(pgflow.register_worker(pgflow_test.w(5), 'queue_b', 'fn', pgflow_test.pairs('f/a'), predecessor => pgflow_test.w(1)),
  'registered', 'the predecessor itself does not count');

-- predecessor
select ok((select stopped_at is not null from pgflow.workers where worker_id = pgflow_test.w(1)), 'the predecessor is stopped');
select is(pgflow.register_worker(pgflow_test.w(6), 'queue_b', 'fn', pgflow_test.pairs('f/a'), predecessor => pgflow_test.w(99)),
  'superseded', 'a missing predecessor supersedes');
select pgflow.register_worker(pgflow_test.w(7), 'queue_b', 'fn', pgflow_test.pairs('f/a'));
update pgflow.workers set deprecated_at = clock_timestamp() where worker_id = pgflow_test.w(7);
select is(pgflow.register_worker(pgflow_test.w(8), 'queue_b', 'fn', pgflow_test.pairs('f/a'), predecessor => pgflow_test.w(7)),
  'superseded', 'a deprecated predecessor supersedes');
select is(pgflow.register_worker(pgflow_test.w(8), 'queue_b', 'fn', '{}', standby => true, predecessor => pgflow_test.w(7)),
  'superseded', 'also who wants to stand by');
select is((select count(*) from pgflow.workers where worker_id = pgflow_test.w(8)), 0::bigint, 'without a row');
select is(pgflow.register_worker(pgflow_test.w(7), 'queue_b', 'fn', pgflow_test.pairs('f/a')), 'superseded',
  'a deprecated row cannot be registered again');
select is(pgflow.register_worker(pgflow_test.w(9), 'queue_b', 'fn', pgflow_test.pairs('f/a'), predecessor => pgflow_test.w(5)),
  'registered', 'a living predecessor is replaced');
select is(pgflow.register_worker(pgflow_test.w(9), 'queue_b', 'fn', pgflow_test.pairs('f/a'), predecessor => pgflow_test.w(5)),
  'registered', 'a lost answer can be asked for again');

-- standby and disabled
select is(pgflow.register_worker(pgflow_test.w(20), 'queue_c', 'fn3', pgflow_test.pairs('f/a'), standby => true), 'registered',
  'standing by is allowed');
select is((select count(*) from pgflow.worker_task_pairs where worker_id = pgflow_test.w(20)), 0::bigint, 'without pairs');
select is(pgflow.register_worker(pgflow_test.w(21), 'queue_d', 'fn3', pgflow_test.pairs('f/a')), 'registered',
  'one that stands by on another queue does not stop those that work');
select pgflow.disable_worker_functions('{fn3}');
select is(pgflow.register_worker(pgflow_test.w(22), 'queue_d', 'fn3', pgflow_test.pairs('f/a')), 'disabled',
  'a disabled function refuses');
select is((select count(*) from pgflow.workers where worker_id = pgflow_test.w(22)), 0::bigint, 'without a row');
select is(pgflow.register_worker(pgflow_test.w(22), 'queue_d', 'fn3', pgflow_test.pairs('f/a'), predecessor => pgflow_test.w(20)),
  'disabled', 'also a predecessor''s successor');
select ok((select stopped_at is null from pgflow.workers where worker_id = pgflow_test.w(20)), 'whose predecessor stays');
select is(pgflow.register_worker(pgflow_test.w(22), 'queue_d', 'fn3', '{}', standby => true, predecessor => pgflow_test.w(21)),
  'registered', 'a worker that must stop goes to stand by');
update pgflow.worker_functions set enabled = false, paused_at = clock_timestamp(), pause_reason = '{}' where function_name = 'fn2';
select is(pgflow.register_worker(pgflow_test.w(23), 'queue_b', 'fn2', pgflow_test.pairs('f/a')), 'disabled',
  'the guard''s pause stops workers from starting');

-- what hosts announce of the schema
select lives_ok($$ select pgflow.register_worker(pgflow_test.w(40), 'queue_e', 'fn4', '{}',
    '{"version": "0.1.0", "host": "old", "pid": 7}', predecessor => null) $$, 'a host that announces no version is one of version 1');
select lives_ok($$ select pgflow.register_worker(pgflow_test.w(41), 'queue_e', 'fn5', '{}',
    '{"version": "9", "host": "new", "pid": 8, "schema": {"oldest": 2, "newest": 3}}') $$, 'one that announces a later one');
select lives_ok($$ select pgflow.register_worker(pgflow_test.w(42), 'queue_e', 'fn6', '{}',
    '{"version": "9", "schema": {"oldest": "x", "newest": [1]}}') $$, 'what is no number is no error');
select lives_ok($$ select pgflow.register_worker(pgflow_test.w(43), 'queue_e', 'fn7', '{}') $$, 'and a worker that is no host');
select results_eq($$ select function_name, host, pid, program from pgflow._hosts_unfit_for(1) $$,
  $$ values ('fn5', 'new', '8', '9') $$, 'version 1 does not do for a host that needs version 2');
select set_eq('select function_name from pgflow._hosts_unfit_for(2)', '{fn4,fn6}'::text[], 'nor version 2 for those of version 1');
update pgflow.workers set last_heartbeat_at = clock_timestamp() - interval '29 seconds' where worker_id = pgflow_test.w(41);
select is((select count(*) from pgflow._hosts_unfit_for(1)), 1::bigint, 'silent for a while is not gone');
update pgflow.workers set last_heartbeat_at = clock_timestamp() - interval '31 seconds' where worker_id = pgflow_test.w(41);
select is((select count(*) from pgflow._hosts_unfit_for(1)), 0::bigint, 'silent for long is');

update pgflow.schema_migrations set oldest_host = version;
select throws_ok($$ select pgflow.register_worker(pgflow_test.w(44), 'queue_e', 'fn8', '{}', '{"version": "0.1.0"}') $$, '55000',
  'the schema pgflow runs hosts of version 2 on, and this one is of version 1', 'after the contract an old host is refused');
select lives_ok($$ select pgflow.register_worker(pgflow_test.w(45), 'queue_e', 'fn9', '{}',
    '{"version": "9", "schema": {"oldest": 2, "newest": 2}}') $$, 'and the others are not');

select * from finish();
rollback;
