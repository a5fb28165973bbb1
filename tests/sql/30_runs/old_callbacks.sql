-- complete_task and fail_task: what workers call that carry no fence.
begin;
select plan(31);

select pgflow_test.chain('f', '{a,b}');
select pgflow.start_flow('f', '1', pgflow_test.w(11));
create function pg_temp.claim_old(n int default 9) returns void language plpgsql as $$
declare q record;
begin
  insert into pgflow.workers (worker_id, queue_name, function_name) values (pgflow_test.w(n), 'f', 'fn') on conflict do nothing;
  perform pgflow.start_tasks('f', array(select r.msg_id from pgmq.read('f', 60, 100) r), pgflow_test.w(n));
end $$;

-- nothing is started
select is((select status from pgflow.complete_task(pgflow_test.w(11), 'a', 0, '1')), 'queued', 'a task that nobody started is returned as it is');
select is((select status from pgflow.fail_task(pgflow_test.w(11), 'a', 0, 'x')), 'queued', 'by both');
select is_empty($$select * from pgflow.complete_task(pgflow_test.w(11), 'b', 0, '1')$$, 'a task that does not exist is no row');
select is_empty($$select * from pgflow.fail_task(pgflow_test.w(99), 'a', 0, 'x')$$, 'for both');

-- a started attempt of an old worker
select pg_temp.claim_old();
select results_eq($$select status, output, completed_at is not null from pgflow.complete_task(pgflow_test.w(11), 'a', 0, '{"n": 9007199254740993}')$$,
  $$values ('completed', '{"n": 9007199254740993}'::jsonb, true)$$, 'complete_task completes what is started and returns the row');
select is((select status from pgflow.step_states where step_slug = 'b'), 'started', 'the next step starts');
select results_eq($$select status, output from pgflow.complete_task(pgflow_test.w(11), 'a', 0, '2')$$,
  $$values ('completed', '{"n": 9007199254740993}'::jsonb)$$, 'a late callback changes nothing');
select results_eq($$select status, error_message from pgflow.fail_task(pgflow_test.w(11), 'a', 0, 'x')$$, $$values ('completed', null)$$, 'nor does a late failure');
select is((select remaining_steps from pgflow.runs), 1, 'no counter moved');

select pg_temp.claim_old();
select results_eq($$select status, attempts_count, error_message from pgflow.fail_task(pgflow_test.w(11), 'b', 0, 'boom')$$,
  $$values ('queued', 1, 'boom')$$, 'fail_task queues it again');
select ok(vt between now() + interval '10 s' and clock_timestamp() + interval '10 s', 'after the backoff')
from pgflow.step_tasks t cross join pgflow_test.message(t.queue_name, t.message_id) where t.step_slug = 'b';
select pgflow_test.show_all('f');
select pg_temp.claim_old();
select is((select status from pgflow.fail_task(pgflow_test.w(11), 'b', 0, 'boom', retry_after => 3)), 'queued', 'with its own delay');
select ok(vt between now() + interval '3 s' and clock_timestamp() + interval '3 s', 'after that')
from pgflow.step_tasks t cross join pgflow_test.message(t.queue_name, t.message_id) where t.step_slug = 'b';
select pgflow_test.show_all('f');
select pg_temp.claim_old();
select results_eq($$select status, attempts_count, error_message from pgflow.fail_task(pgflow_test.w(11), 'b', 0, 'for good')$$,
  $$values ('failed', 3, 'for good')$$, 'until no attempt is left');
select is((select status from pgflow.runs), 'failed', 'then the run fails');
select is((select count(*) from pgflow_test.live_messages()), 0::bigint, 'no message is left');
select is_empty('select * from pgflow_test.violations()', 'nothing is broken');

select pgflow.start_flow('f', '1', pgflow_test.w(12));
select pg_temp.claim_old();
select is((select status from pgflow.fail_task(pgflow_test.w(12), 'a', 0, 'bad', true)), 'failed', 'a permanent failure is not tried again');
select is((select status from pgflow.runs where run_id = pgflow_test.w(12)), 'failed', 'and fails the run');

-- a null output
select pgflow.start_flow('f', '1', pgflow_test.w(13));
select pg_temp.claim_old();
select is((select output from pgflow.complete_task(pgflow_test.w(13), 'a', 0, null)), 'null', 'no output is the JSON null');

-- whatever attempt is started
select pgflow.start_flow('f', '1', pgflow_test.w(14));
select pg_temp.claim_old(8);
select pgflow_test.let_deadlines_pass();
select pgflow.requeue_stalled_tasks();
select pg_temp.claim_old(9);
select is((select status from pgflow.complete_task(pgflow_test.w(14), 'a', 0, '1')), 'completed', 'an earlier attempt completes the one that is started now');

-- claimed by exact pair: the fence of finish_tasks alone counts
select pgflow.start_flow('f', '1', pgflow_test.w(15));
select pgflow_test.claim('f');
select is((select status from pgflow.complete_task(pgflow_test.w(15), 'a', 0, '1')), 'started', 'complete_task leaves an attempt alone that was claimed exactly');
select results_eq($$select status, error_message from pgflow.fail_task(pgflow_test.w(15), 'a', 0, 'x', true)$$, $$values ('started', null)$$, 'so does fail_task');
select is(pgflow_test.report('a', 'completed', '5', run_id => pgflow_test.w(15)), 'completed', 'its worker completes it');
select is((select output from pgflow.step_tasks where run_id = pgflow_test.w(15) and step_slug = 'a'), '5', 'with its own output');

-- and back to an old worker
select pgflow.release_tasks(pgflow_test.w(1), array[pgflow_test.w(15)], '{b}', '{0}', '{1}', '{true}') from pgflow_test.claim('f') limit 1;
select is((select status from pgflow.complete_task(pgflow_test.w(15), 'b', 0, '1')), 'queued', 'released, it waits');
select pg_temp.claim_old();
select is((select status from pgflow.complete_task(pgflow_test.w(15), 'b', 0, '6')), 'completed', 'claimed by an old worker, complete_task counts again');
select is((select output from pgflow.runs where run_id = pgflow_test.w(15)), '{"b": 6}', 'and the run completes');
select is((select outcome from pgflow.finish_tasks(pgflow_test.w(1), array[pgflow_test.w(15)], '{b}', '{0}', '{1}', '{completed}', '{7}', null)), 'late',
  'the worker that released it is late');

-- a run that ended
select pgflow.start_flow('f', '1', pgflow_test.w(16));
select pg_temp.claim_old();
select pgflow.cancel_run(pgflow_test.w(16), 'stop');
select results_eq($$select status, output from pgflow.complete_task(pgflow_test.w(16), 'a', 0, '1')$$, $$values ('cancelled', null::jsonb)$$, 'a callback for a cancelled run revives nothing');
select is_empty('select * from pgflow_test.violations()', 'nothing is broken');

select * from finish();
rollback;
