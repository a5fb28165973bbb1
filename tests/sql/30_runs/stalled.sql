-- _fail_stalled, as recovery uses it.
begin;
select plan(13);

create function pg_temp.flow(slug text, mode text) returns void language plpgsql as $$
begin
  perform pgflow.create_flow(slug);
  perform pgflow.add_step(slug, 'each', step_type => 'map', when_exhausted => mode);
  perform pgflow.add_step(slug, 'end', '{each}');
end $$;
select pg_temp.flow('f', 'fail');
select pg_temp.flow('s', 'skip');
select pgflow.start_flow('f', '[1, 2, 3]', pgflow_test.w(11));
select pgflow_test.claim('f', qty => 2);

-- looked at again under the locks
select pgflow._fail_stalled(array[pgflow_test.w(11)], '{each}', '{0}', '[STALLED] x');
select is((select status from pgflow.step_tasks where task_index = 0), 'started', 'a task within its deadline is left alone');
select pgflow_test.let_deadlines_pass();
select pgflow._fail_stalled(array[pgflow_test.w(11)], '{each}', '{2}', '[STALLED] x');
select is((select status from pgflow.step_tasks where task_index = 2), 'queued', 'so is one that is not started');
select pgflow._fail_stalled('{}', '{}', '{}', '[STALLED] x');
select is((select status from pgflow.runs), 'started', 'no task, no failure');

-- for good, without a retry, whatever claimed it
select pgflow._fail_stalled(array[pgflow_test.w(11)], '{each}', '{0}', '[STALLED] x');
select results_eq('select task_index, status, error_message, permanently_stalled_at is not null from pgflow.step_tasks order by 1',
  $$values (0, 'failed', '[STALLED] x', true), (1, 'cancelled', null, false), (2, 'cancelled', null, false)$$, 'a stalled task fails for good and is marked');
select results_eq('select status, error_message from pgflow.step_states where step_slug = $$each$$', $$values ('failed', '[STALLED] x')$$, 'its step fails');
select is((select status from pgflow.runs), 'failed', 'its run fails');
select is((select count(*) from pgflow_test.live_messages()), 0::bigint, 'its messages are archived');
select is_empty('select * from pgflow_test.violations()', 'nothing is broken');

-- when_exhausted decides; several tasks at once
select pgflow.start_flow('s', '[1, 2, 3]', pgflow_test.w(12));
select pgflow_test.claim('s');
select pgflow_test.let_deadlines_pass();
select pgflow._fail_stalled(array[pgflow_test.w(12), pgflow_test.w(12)], '{each,each}', '{0,1}', '[STALLED] y');
select results_eq('select task_index, status from pgflow.step_tasks where run_id = pgflow_test.w(12) and step_slug = $$each$$ order by 1',
  $$values (0, 'failed'), (1, 'failed'), (2, 'skipped')$$, 'a step that may be skipped is skipped');
select results_eq('select status, skip_reason from pgflow.step_states where run_id = pgflow_test.w(12) and step_slug = $$each$$', $$values ('skipped', 'handler_failed')$$, 'with its reason');
select is((select status from pgflow.step_tasks where run_id = pgflow_test.w(12) and step_slug = 'end'), 'queued', 'the run goes on');

-- the late result
select is(pgflow_test.report('each', 'completed', '1', 0, pgflow_test.w(12)), 'again', 'the worker that comes back changes nothing');
select is_empty('select * from pgflow_test.violations()', 'nothing is broken');

select * from finish();
rollback;
