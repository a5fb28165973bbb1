begin;
select plan(19);
select pgflow_test.chain('f', '{a}');
select pgflow.register_worker(pgflow_test.w(1), 'f', 'fn', pgflow_test.pairs('f/a'));
select pgflow.start_flow('f', '{}', pgflow_test.w(n)) from generate_series(101, 106) n;
select count(*) from pgflow.read_and_claim_tasks('f', 4, 5, pgflow_test.w(1));
select pgflow.finish_tasks(pgflow_test.w(1), array_agg(run_id), array_agg(step_slug), array_agg(task_index), array_agg(claim_no),
  array_agg('completed'::text), array_agg('1'::text), array_agg(null::text))
from pgflow.step_tasks where status = 'started';
select pgflow.cancel_run(pgflow_test.w(105));
select pgmq.send('f', '{}');
select is((select count(*) from pgflow_test.archived('f')), 5::bigint, 'five messages are archived');

select is(pgflow.prune_data_older_than('1 day'), 0::bigint, 'young runs stay');
update pgflow.runs set started_at = '2020-01-01', completed_at = case when completed_at is not null then '2020-01-02'::timestamptz end,
  failed_at = case when failed_at is not null then '2020-01-02'::timestamptz end where run_id <> pgflow_test.w(104);
update pgflow.runs set started_at = '2020-01-01' where run_id = pgflow_test.w(104);
-- A live message that a terminal run has left, whatever the reason.
update pgflow.step_tasks set message_id = (select pgmq.send('f', '{}')) where run_id = pgflow_test.w(101);

select is(pgflow.prune_data_older_than('1 day', 2), 2::bigint, 'at most max_runs at a time');
select is(pgflow.prune_data_older_than('1 day', 2), 2::bigint, 'again');
select is(pgflow.prune_data_older_than('1 day', 2), 0::bigint, 'until 0');
select results_eq('select run_id from pgflow.runs order by 1', 'values (pgflow_test.w(104)), (pgflow_test.w(106))',
  'one that ended a moment ago stays, however long ago it began, and one that is started');
select is((select count(*) from pgflow.step_states), 2::bigint, 'states go with their runs');
select is((select count(*) from pgflow.step_tasks), 2::bigint, 'tasks too');
select is((select array_agg(a) from pgflow_test.archived('f') a),
  (select array_agg(id) from (select message_id as id from pgflow.step_tasks where run_id = pgflow_test.w(104) union select 1 order by 1) x),
  'archived messages go with their tasks; one that a task no longer names stays');
select is((select count(*) from pgmq.q_f), 2::bigint, 'live messages of pruned runs go, others'' stay');
select is((select count(*) from pgflow.steps), 1::bigint, 'definitions stay');

-- worker rows
insert into pgflow.workers (worker_id, queue_name, function_name, last_heartbeat_at, started_at) values
  (pgflow_test.w(11), 'q', 'x', clock_timestamp() - interval '2 days', '2020-01-01'),
  (pgflow_test.w(12), 'q', 'x', clock_timestamp() - interval '1 hour', '2020-01-01');
select pgflow.prune_data_older_than('1 day');
select results_eq($$select worker_id from pgflow.workers where function_name = 'x'$$, 'values (pgflow_test.w(12))', 'worker rows silent for longer go');

-- a queue that is gone
update pgflow.runs set completed_at = '2020-01-02' where run_id = pgflow_test.w(104);
update pgflow.step_tasks set queue_name = 'vanished' where run_id = pgflow_test.w(104);
select is(pgflow.prune_data_older_than('1 day'), 1::bigint, 'a run whose queue is gone is pruned');

select throws_ok($$select pgflow.prune_data_older_than('-1 day')$$, '22023', null, 'a negative interval is refused');
select throws_ok($$select pgflow.prune_data_older_than(null)$$, '22023', null, 'so is none');
select throws_ok($$select pgflow.prune_data_older_than('1 day', 0)$$, '22023', null, 'and max_runs 0');
select is(pgflow.prune_data_older_than('0 seconds'), 0::bigint, 'a started run is never pruned');

select is(pgflow.prune_data_older_than('100000 years'), 0::bigint, 'an age beyond any timestamp deletes nothing');
select is(pgflow.prune_data_older_than('178000000 years'), 0::bigint, 'the longest interval likewise');

select * from finish();
rollback;
