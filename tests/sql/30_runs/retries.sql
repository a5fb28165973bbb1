begin;
select plan(43);

-- the backoff
select results_eq($$select n, pgflow.calculate_retry_delay(5, n) from unnest('{0,1,2,3,14,15,2000000000,-1}'::int[]) n$$,
  $$values (0, 5), (1, 10), (2, 20), (3, 40), (14, 81920), (15, 86400), (2000000000, 86400), (-1, 5)$$, 'doubles with each attempt, at most a day, without overflow');
select is(pgflow.calculate_retry_delay(0.3, 2), 1, 'a fraction is rounded down');
select is(pgflow.calculate_retry_delay(0, 1000), 0, 'no base, no delay');
select is(pgflow.calculate_retry_delay(86400, 1000), 86400, 'the largest base stays within a day');

-- a retry
select pgflow.create_flow('retry', max_attempts => 3, base_delay => 5);
select pgflow.add_step('retry', 'a');
select pgflow.add_step('retry', 'b', '{a}');
select pgflow.start_flow('retry', '1');
select pgflow_test.claim('retry');
select is(pgflow_test.report('a', 'failed', 'connection reset'), 'retrying', 'a failed attempt is tried again');
select results_eq('select status, attempts_count, claim_no, error_message, started_at, recover_at, failed_at from pgflow.step_tasks',
  $$values ('queued', 1, 1, 'connection reset', null::timestamptz, null::timestamptz, null::timestamptz)$$, 'the task is queued, with the error, the attempt counted');
select ok(m.vt between now() + interval '10 s' and clock_timestamp() + interval '10 s', 'its message is hidden for base_delay * 2^attempts')
from pgflow.step_tasks t cross join pgflow_test.message(t.queue_name, t.message_id) m;
select results_eq('select status, remaining_tasks from pgflow.step_states where step_slug = $$a$$', $$values ('started', 1)$$, 'the step goes on');
select is((select status from pgflow.runs), 'started', 'and the run');
select is_empty('select * from pgflow_test.violations()', 'nothing is broken');

-- the last attempt
select pgflow_test.show_all('retry');
select pgflow_test.claim('retry');
select is(pgflow_test.report('a', 'failed', 'again', retry_after => 7), 'retrying', 'the second attempt fails');
select ok(m.vt between now() + interval '7 s' and clock_timestamp() + interval '7 s', 'retry_after takes the place of the backoff')
from pgflow.step_tasks t cross join pgflow_test.message(t.queue_name, t.message_id) m;
select pgflow_test.show_all('retry');
select pgflow_test.claim('retry');
select is(pgflow_test.report('a', 'failed', 'for good'), 'failed', 'the third fails for good');
select results_eq('select status, attempts_count, error_message, failed_at is not null from pgflow.step_tasks', $$values ('failed', 3, 'for good', true)$$, 'the task is failed');
select is(pgflow_test.steps(), '{a:failed,b:created}', 'its step too');
select is((select error_message from pgflow.step_states where step_slug = 'a'), 'for good', 'with the error');
select results_eq('select status, failed_at is not null, remaining_steps from pgflow.runs', $$values ('failed', true, 2)$$, 'and the run');
select is((select count(*) from pgflow_test.archived('retry')), 1::bigint, 'the message is archived');
select is_empty('select * from pgflow_test.violations()', 'nothing is broken');

-- retry_after is clamped
create function pg_temp.hidden_for(seconds int) returns numeric language plpgsql as $$
declare id uuid := (select run_id from pgflow.start_flow('retry', '1'));
begin
  perform pgflow_test.claim('retry');
  perform pgflow_test.report('a', 'failed', 'x', run_id => id, retry_after => seconds);
  return (select round(extract(epoch from m.vt - clock_timestamp())) from pgflow.step_tasks t
          cross join pgflow_test.message(t.queue_name, t.message_id) m where t.run_id = id);
end $$;
select is(pg_temp.hidden_for(0), 0::numeric, 'at once');
select is(pg_temp.hidden_for(-5), 0::numeric, 'never in the past');
select is(pg_temp.hidden_for(90000), 86400::numeric, 'never for more than a day');
select is(pg_temp.hidden_for(null), 10::numeric, 'without it the backoff');

-- permanent
select pgflow.start_flow('retry', '1', pgflow_test.w(30));
select pgflow_test.claim('retry');
select is(pgflow_test.report('a', 'permanent', 'bad input', run_id => pgflow_test.w(30)), 'failed', 'a permanent failure is not tried again');
select is((select status from pgflow.runs where run_id = pgflow_test.w(30)), 'failed', 'the run fails at the first attempt');

-- options of the step win; they count as they are now
select pgflow.create_flow('own', max_attempts => 5, base_delay => 100);
select pgflow.add_step('own', 'a', max_attempts => 2, base_delay => 1);
select pgflow.start_flow('own', '1', pgflow_test.w(31));
select pgflow_test.claim('own');
select is(pgflow_test.report('a', 'failed', 'x', run_id => pgflow_test.w(31)), 'retrying', 'one of two attempts');
select ok(m.vt < clock_timestamp() + interval '3 s', 'after the delay of the step')
from pgflow.step_tasks t cross join pgflow_test.message(t.queue_name, t.message_id) m where t.run_id = pgflow_test.w(31);
update pgflow.steps set opt_max_attempts = 1 where flow_slug = 'own';
select pgflow_test.show_all('own');
select pgflow_test.claim('own');
select is(pgflow_test.report('a', 'failed', 'y', run_id => pgflow_test.w(31)), 'failed', 'more attempts than are now allowed end it');

-- no text
select pgflow.create_flow('mute', max_attempts => 1);
select pgflow.add_step('mute', 'a');
select pgflow.start_flow('mute', '1', pgflow_test.w(32));
select pgflow_test.claim('mute');
select pgflow_test.report('a', 'failed', null, run_id => pgflow_test.w(32));
select is((select error_message from pgflow.step_tasks where run_id = pgflow_test.w(32)), 'failed without a message', 'a failure without a text says so');

-- a message that somebody took away
select pgflow.start_flow('retry', '1', pgflow_test.w(33));
select pgflow.start_flow('retry', '2', pgflow_test.w(34));
select pgflow_test.claim('retry');
create temp table before as select * from pgflow.step_tasks where run_id in (pgflow_test.w(33), pgflow_test.w(34));
select pgmq.delete('retry', (select message_id from before where run_id = pgflow_test.w(33)));
select results_eq($$select f.outcome from pgflow.finish_tasks(pgflow_test.w(1), array[pgflow_test.w(33), pgflow_test.w(34)], '{a,a}', '{0,0}', '{1,1}',
  '{failed,failed}', null, '{x,x}') f order by item$$, $$values ('retrying'), ('retrying')$$, 'two failed attempts, one without its message');
select isnt((select message_id from pgflow.step_tasks where run_id = pgflow_test.w(33)), (select message_id from before where run_id = pgflow_test.w(33)),
  'the one without gets a new message');
select is((select message_id from pgflow.step_tasks where run_id = pgflow_test.w(34)), (select message_id from before where run_id = pgflow_test.w(34)),
  'the other keeps its own');
select ok(m.vt between now() + interval '10 s' and clock_timestamp() + interval '10 s', 'the new one is hidden as long')
from pgflow.step_tasks t cross join pgflow_test.message(t.queue_name, t.message_id) m where t.run_id = pgflow_test.w(33);
select is_empty('select * from pgflow_test.violations()', 'nothing is broken');

-- a map: one element is tried again, the others go on
select pgflow.create_flow('each', max_attempts => 2);
select pgflow.add_step('each', 'item', step_type => 'map');
select pgflow.start_flow('each', '[1, 2]', pgflow_test.w(35));
select pgflow_test.claim('each');
select results_eq($$select f.outcome from pgflow.finish_tasks(pgflow_test.w(1), array[pgflow_test.w(35), pgflow_test.w(35)], '{item,item}', '{0,1}', '{1,1}',
  '{failed,completed}', '{null,"5"}', '{x,null}', '{0,null}') f order by item$$, $$values ('retrying'), ('completed')$$, 'one element fails, the other completes');
select results_eq('select status, remaining_tasks from pgflow.step_states where run_id = pgflow_test.w(35)', $$values ('started', 1)$$, 'the map waits for the one');
select pgflow_test.claim('each');
select is(pgflow_test.report('item', 'completed', '4', 0, pgflow_test.w(35)), 'completed', 'its second attempt completes');
select is((select output from pgflow.runs where run_id = pgflow_test.w(35)), '{"item": [4, 5]}', 'both are in the output');
select is((select error_message from pgflow.step_tasks where run_id = pgflow_test.w(35) and task_index = 0), 'x', 'the error of the earlier attempt stays to be read');
select is_empty('select * from pgflow_test.violations()', 'nothing is broken');

-- one failure for good among others: nothing of the run stays
select pgflow.start_flow('each', '[1, 2, 3, 4]', pgflow_test.w(36));
select pgflow_test.claim('each');
select results_eq($$select f.outcome from pgflow.finish_tasks(pgflow_test.w(1), array_fill(pgflow_test.w(36), '{3}'), '{item,item,item}', '{0,1,2}', '{1,1,1}',
  '{failed,permanent,completed}', '{null,null,"5"}', '{x,y,null}', '{0,0,0}') f order by item$$, $$values ('retrying'), ('failed'), ('completed')$$,
  'a retry, a failure for good and a completion of one run in one batch');
select results_eq('select task_index, status from pgflow.step_tasks where run_id = pgflow_test.w(36) order by 1',
  $$values (0, 'cancelled'), (1, 'failed'), (2, 'completed'), (3, 'cancelled')$$, 'what was done is recorded, what is live is cancelled');
select is_empty('select * from pgflow_test.violations()', 'nothing is broken');

select * from finish();
rollback;
