begin;
select plan(19);

select pgflow.create_flow('f');
select pgflow.add_step('f', 'a');
select pgflow.add_step('f', 'each', step_type => 'map', queue_name => 'q2');
select pgflow.add_step('f', 'later', start_delay => 1000);
select pgflow.add_step('f', 'end', '{a,each,later}');
select pgflow.start_flow('f', '[1, 2, 3]', pgflow_test.w(11));
select pgflow.start_flow('f', '[1, 2, 3]', pgflow_test.w(12));
select pgflow_test.claim('q2', qty => 2);
select pgflow_test.report('each', 'completed', '1', 0, pgflow_test.w(11));

select results_eq($$select status, failed_at >= started_at, completed_at, output, remaining_steps from pgflow.cancel_run(pgflow_test.w(11), 'wrong input')$$,
  $$values ('cancelled', true, null::timestamptz, null::jsonb, 4)$$, 'a cancelled run is returned');
select results_eq('select step_slug, status, error_message from pgflow.step_states where run_id = pgflow_test.w(11) order by 1',
  $$values ('a', 'failed', '[CANCELLED] wrong input'), ('each', 'failed', '[CANCELLED] wrong input'), ('end', 'created', null), ('later', 'failed', '[CANCELLED] wrong input')$$,
  'its started steps fail with the reason, the others stay created');
select results_eq('select step_slug, task_index, status from pgflow.step_tasks where run_id = pgflow_test.w(11) order by 1, 2',
  $$values ('a', 0, 'cancelled'), ('each', 0, 'completed'), ('each', 1, 'cancelled'), ('each', 2, 'cancelled'), ('later', 0, 'cancelled')$$,
  'its live tasks are cancelled, started, queued and delayed');
select is((select count(*) from pgflow_test.live_messages() m join pgflow.step_tasks t using (queue_name, message_id) where t.run_id = pgflow_test.w(11)), 0::bigint,
  'no queue has a message of it');
select is((select count(*) from pgflow_test.archived('q2')), 3::bigint, 'they are archived');
select is((select count(*) from pgflow_test.live_messages()), 5::bigint, 'another run keeps its own');
select is_empty('select * from pgflow_test.violations()', 'nothing is broken');

-- late
select is(pgflow_test.report('each', 'completed', '1', 1, pgflow_test.w(11)), 'again', 'a result that comes later changes nothing');
select is(pgflow_test.report('each', 'failed', 'x', 1, pgflow_test.w(11)), 'again', 'a failure neither');
select results_eq('select status, remaining_steps from pgflow.runs where run_id = pgflow_test.w(11)', $$values ('cancelled', 4)$$, 'the run stays as it is');
select is((select remaining_tasks from pgflow.step_states where run_id = pgflow_test.w(11) and step_slug = 'each'), 2, 'no counter moves');

-- ended runs
create temp table before as select * from pgflow.runs where run_id = pgflow_test.w(11);
select results_eq($$select (pgflow.cancel_run(pgflow_test.w(11), 'once more')).*$$, 'select * from before', 'a cancelled run is returned unchanged');
select pgflow_test.chain('g');
select pgflow.start_flow('g', '1', pgflow_test.w(13));
select pgflow_test.work('g');
select is((select status from pgflow.cancel_run(pgflow_test.w(13), 'late')), 'completed', 'so is a completed one');
select is((select error_message from pgflow.step_states where run_id = pgflow_test.w(13)), null, 'nothing is written');

-- reasons
select pgflow.start_flow('g', '1', pgflow_test.w(14));
select is((select status from pgflow.cancel_run(pgflow_test.w(14))), 'cancelled', 'a reason is not needed');
select is((select error_message from pgflow.step_states where run_id = pgflow_test.w(14)), '[CANCELLED]', 'then the mark stands alone');

-- no such run
select throws_ok($$select pgflow.cancel_run(pgflow_test.w(99), 'x')$$, '42704', 'there is no run 10000000-0000-4000-8000-000000000099', 'a run that is not there is an error');
select throws_ok($$select pgflow.cancel_run(null, 'x')$$, '42704', null, 'null too');
select is_empty('select * from pgflow_test.violations()', 'nothing is broken');

select * from finish();
rollback;
