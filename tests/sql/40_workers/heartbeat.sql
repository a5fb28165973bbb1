begin;
select plan(17);
select pgflow_test.chain('f', '{a,b}');
select pgflow.register_worker(pgflow_test.w(1), 'f', 'fn', pgflow_test.pairs('f/a', 'f/b'));
update pgflow.workers set last_heartbeat_at = '2020-01-01';

select results_eq($$select * from pgflow.heartbeat(pgflow_test.w(1))$$, $$values (false, false, '{}'::uuid[])$$,
  'nothing to say to a healthy worker');
select ok((select pgflow._is_live(w) from pgflow.workers w), 'it is live again');
update pgflow.workers set last_heartbeat_at = '2100-01-01';
select pgflow.heartbeat(pgflow_test.w(1));
select is((select last_heartbeat_at from pgflow.workers), '2100-01-01'::timestamptz, 'a clock that stepped back takes nothing away');

-- is_deprecated
select is((select is_deprecated from pgflow.heartbeat(pgflow_test.w(99))), true, 'a missing row answers deprecated');
update pgflow.workers set deprecated_at = clock_timestamp();
select is((select is_deprecated from pgflow.heartbeat(pgflow_test.w(1))), true, 'a deprecated one is told');
update pgflow.workers set deprecated_at = null;

-- ended_runs
select pgflow.start_flow('f', '{}', pgflow_test.w(101));
select pgflow.start_flow('f', '{}', pgflow_test.w(102));
select pgflow.cancel_run(pgflow_test.w(102), 'enough');
select is((select ended_runs from pgflow.heartbeat(pgflow_test.w(1), array[pgflow_test.w(101), pgflow_test.w(102)])),
  array[pgflow_test.w(102)], 'a cancelled run has ended, a started one not');
select is((select ended_runs from pgflow.heartbeat(pgflow_test.w(1), array[pgflow_test.w(103)])),
  array[pgflow_test.w(103)], 'a run that is gone has ended');

-- held
select pgflow.heartbeat(pgflow_test.w(1), held => pgflow_test.pairs('f/b', 'x/y'));
select results_eq('select step_slug, held from pgflow.worker_task_pairs order by 1', $$values ('a', false), ('b', true)$$,
  'held pairs are marked');
select pgflow.heartbeat(pgflow_test.w(1));
select results_eq('select step_slug, held from pgflow.worker_task_pairs order by 1', $$values ('a', false), ('b', false)$$,
  'and unmarked');

-- must_stop
select pgflow.disable_worker_functions('{fn}');
select ok((select must_stop from pgflow.heartbeat(pgflow_test.w(1))), 'an operator''s disable stops a running worker');
update pgflow.worker_functions set paused_at = clock_timestamp(),
  pause_reason = '{"pairs": [{"flowSlug": "f", "stepSlug": "a"}]}';
select ok(not (select must_stop from pgflow.heartbeat(pgflow_test.w(1))), 'a pause does not stop one that has the pair');
update pgflow.worker_functions set pause_reason = '{"pairs": [{"flowSlug": "f", "stepSlug": "a"}, {"flowSlug": "g", "stepSlug": "a"}]}';
select ok((select must_stop from pgflow.heartbeat(pgflow_test.w(1))), 'it stops one that lacks a pair of it');
update pgflow.worker_functions set pause_reason = '{"pairs": [{"flowSlug": "f", "stepSlug": "A"}]}';
select ok((select must_stop from pgflow.heartbeat(pgflow_test.w(1))), 'pairs are exact');
update pgflow.worker_functions set pause_reason = '{}';
select ok(not (select must_stop from pgflow.heartbeat(pgflow_test.w(1))), 'a pause without pairs stops nobody who runs');
select pgflow.disable_worker_functions('{fn}');
select ok((select must_stop from pgflow.heartbeat(pgflow_test.w(1))), 'an operator''s disable of a paused function does');
select pgflow.enable_worker_function('fn');
select ok(not (select must_stop from pgflow.heartbeat(pgflow_test.w(1))), 'enabling ends it');
delete from pgflow.worker_functions;
select ok(not (select must_stop from pgflow.heartbeat(pgflow_test.w(1))), 'a function without a row stops nobody');

select * from finish();
rollback;
