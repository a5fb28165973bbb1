begin;
select plan(21);

select pgflow.create_flow('f', max_attempts => 5);
select pgflow.add_step('f', 'list');
select pgflow.add_step('f', 'elsewhere', queue_name => 'q2');
select pgflow.add_step('f', 'each', '{list}', step_type => 'map');
select pgflow.add_step('f', 'sum', '{list}');

create function pg_temp.give(output text, run int) returns text language plpgsql as $$
begin
  perform pgflow.start_flow('f', '1', pgflow_test.w(run));
  perform pgflow_test.claim('f');
  return pgflow_test.report('list', 'completed', output, run_id => pgflow_test.w(run));
end $$;

select is(pg_temp.give('{"items": [1]}', 11), 'failed', 'a step that feeds a map and gives no array fails');
select results_eq('select status, output, error_message, attempts_count from pgflow.step_tasks where step_slug = $$list$$',
  $$values ('failed', '{"items": [1]}'::jsonb, '[TYPE_VIOLATION] step "list" feeds map step "each" and must give an array; it gave type object', 1)$$,
  'at once; the output that offends stays on the task');
select results_eq('select status, output, error_message from pgflow.step_states where step_slug = $$list$$',
  $$values ('failed', null::jsonb, '[TYPE_VIOLATION] step "list" feeds map step "each" and must give an array; it gave type object')$$, 'the step says so too');
select is((select status from pgflow.runs), 'failed', 'the run fails');
select is((select array_agg(step_slug || ':' || status order by step_slug) from pgflow.step_states), '{each:created,elsewhere:started,list:failed,sum:created}', 'nothing follows');
select is((select status from pgflow.step_tasks where step_slug = 'elsewhere'), 'cancelled', 'its live task on another queue is cancelled');
select is((select count(*) from pgflow_test.live_messages()), 0::bigint, 'every message of the run is archived');
select is_empty('select * from pgflow_test.violations()', 'nothing is broken');

select is(pg_temp.give('null', 12), 'failed', 'null is no array');
select is(pg_temp.give(null, 13), 'failed', 'nor is no output');
select is(pg_temp.give('"[1]"', 14), 'failed', 'nor a string');
select is((select count(*) from pgflow.step_tasks where status = 'failed' and error_message like '%it gave type null'), 2::bigint, 'the type is named');
select is(pg_temp.give('[]', 15), 'completed', 'an empty array is one');
select is(pg_temp.give('[[1]]', 16), 'completed', 'an array of arrays too');
select is((select input from pgflow.step_tasks where step_slug = 'each'), '[1]', 'its elements are as they are');
select is_empty('select * from pgflow_test.violations()', 'nothing is broken');

-- a failure is a failure
select pgflow.start_flow('f', '1', pgflow_test.w(17));
select pgflow_test.claim('f');
select is(pgflow_test.report('list', 'failed', 'x', run_id => pgflow_test.w(17)), 'retrying', 'a failed attempt is tried again as ever');

-- a map may give what it likes; a step that feeds none too
select pgflow.create_flow('g');
select pgflow.add_step('g', 'each', step_type => 'map');
select pgflow.add_step('g', 'each2', '{each}', step_type => 'map');
select pgflow.start_flow('g', '[1]', pgflow_test.w(18));
select pgflow_test.claim('g');
select is(pgflow_test.report('each', 'completed', '{}', run_id => pgflow_test.w(18)), 'completed', 'an element of a map before a map may be anything');

-- a map step added after the run began, as version 1 allowed, is not of this run
select pgflow_test.chain('h', '{list,end}');
select pgflow.start_flow('h', '1', pgflow_test.w(19));
insert into pgflow.steps (flow_slug, step_slug, step_type, step_index, deps_count, queue_name) values ('h', 'late', 'map', 2, 1, 'h');
insert into pgflow.deps (flow_slug, dep_slug, step_slug) values ('h', 'list', 'late');
select pgflow_test.claim('h');
select is(pgflow_test.report('list', 'completed', '{}', run_id => pgflow_test.w(19)), 'completed', 'a map that the run does not have is not starved');

-- through the old form
select pgflow.start_flow('f', '1', pgflow_test.w(20));
insert into pgflow.workers (worker_id, queue_name, function_name) values (pgflow_test.w(9), 'f', 'fn');
select pgflow.start_tasks('f', array(select r.msg_id from pgmq.read('f', 60, 100) r), pgflow_test.w(9));
select is((select status from pgflow.complete_task(pgflow_test.w(20), 'list', 0, '{}')), 'failed', 'complete_task is as strict');
select is((select status from pgflow.runs where run_id = pgflow_test.w(20)), 'failed', 'and fails the run');

select * from finish();
rollback;
