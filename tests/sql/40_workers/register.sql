begin;
select plan(29);
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

select * from finish();
rollback;
