begin;
select plan(22);

create function pg_temp.flow(slug text, mode text, kind text default 'single') returns void language plpgsql as $$
begin
  perform pgflow.create_flow(slug, max_attempts => 1);
  perform pgflow.add_step(slug, 'weak', step_type => kind, when_exhausted => mode, queue_name => slug || '_weak');
  perform pgflow.add_step(slug, 'next', '{weak}');
  perform pgflow.add_step(slug, 'last', '{next}');
end $$;

-- skip
select pg_temp.flow('skip', 'skip');
select pgflow.start_flow('skip', '1', pgflow_test.w(11));
select pgflow_test.claim('skip_weak');
select is(pgflow_test.report('weak', 'failed', 'gave up'), 'skipped', 'a step that may be skipped is skipped');
select results_eq('select status, error_message from pgflow.step_tasks where step_slug = $$weak$$', $$values ('failed', 'gave up')$$, 'its task failed, really');
select results_eq('select status, skip_reason, error_message, remaining_tasks from pgflow.step_states where step_slug = $$weak$$',
  $$values ('skipped', 'handler_failed', 'gave up', 0)$$, 'the reason is kept');
select is((select array_agg(step_slug || ':' || status order by step_slug) from pgflow.step_states), '{last:created,next:started,weak:skipped}', 'the next step goes on');
select results_eq('select input from pgflow_test.claim($$skip$$)', $$values ('{}'::jsonb)$$, 'without it');
select is((select remaining_steps from pgflow.runs), 2, 'the run counts it as done');
select is_empty('select * from pgflow_test.violations()', 'nothing is broken');

-- skip-cascade
select pg_temp.flow('cascade', 'skip-cascade');
select pgflow.start_flow('cascade', '1', pgflow_test.w(12));
select pgflow_test.claim('cascade_weak');
select is(pgflow_test.report('weak', 'permanent', 'gave up', run_id => pgflow_test.w(12)), 'skipped', 'so is one that takes its downstream with it');
select results_eq('select step_slug, status, skip_reason from pgflow.step_states where run_id = pgflow_test.w(12) order by 1',
  $$values ('last', 'skipped', 'dependency_skipped'), ('next', 'skipped', 'dependency_skipped'), ('weak', 'skipped', 'handler_failed')$$, 'which is skipped');
select results_eq('select status, output from pgflow.runs where run_id = pgflow_test.w(12)', $$values ('completed', '{}'::jsonb)$$, 'the run completes with what is left: nothing');
select is_empty('select * from pgflow_test.violations()', 'nothing is broken');

-- a map with other tasks
select pg_temp.flow('each', 'skip', 'map');
select pgflow.start_flow('each', '[0, 1, 2, 3, 4]', pgflow_test.w(13));
select pgflow_test.claim('each_weak', qty => 4);
select results_eq($$select f.outcome from pgflow.finish_tasks(pgflow_test.w(1), array_fill(pgflow_test.w(13), '{3}'), '{weak,weak,weak}', '{0,1,2}', '{1,1,1}',
  '{completed,failed,failed}', '{"1",null,null}', '{null,x,y}') f order by item$$, $$values ('completed'), ('skipped'), ('skipped')$$, 'two elements of a map fail for good in one batch');
select results_eq('select task_index, status from pgflow.step_tasks where run_id = pgflow_test.w(13) and step_slug = $$weak$$ order by 1',
  $$values (0, 'completed'), (1, 'failed'), (2, 'failed'), (3, 'skipped'), (4, 'skipped')$$, 'its live tasks are skipped, started and queued');
select is((select count(*) from pgflow_test.live_messages() where queue_name = 'each_weak'), 0::bigint, 'their messages are archived');
select results_eq('select status, remaining_tasks, initial_tasks, output from pgflow.step_states where run_id = pgflow_test.w(13) and step_slug = $$weak$$',
  $$values ('skipped', 0, 5, null::jsonb)$$, 'the step has nothing left and no output');
select is(pgflow_test.report('weak', 'completed', '1', 3), 'again', 'a result that comes later changes nothing');
select is((select status from pgflow.step_states where run_id = pgflow_test.w(13) and step_slug = 'next'), 'started', 'the next step was started once');
select is((select count(*) from pgflow.step_tasks where run_id = pgflow_test.w(13) and step_slug = 'next'), 1::bigint, 'with one task');
select is_empty('select * from pgflow_test.violations()', 'nothing is broken');

-- one batch in which a run's step is skipped and another fails the run
select pgflow.create_flow('two', max_attempts => 1);
select pgflow.add_step('two', 'weak', when_exhausted => 'skip-cascade');
select pgflow.add_step('two', 'vital');
select pgflow.add_step('two', 'next', '{weak}');
select pgflow.start_flow('two', '1', pgflow_test.w(14));
select pgflow_test.claim('two');
select results_eq($$select f.outcome from pgflow.finish_tasks(pgflow_test.w(1), array_fill(pgflow_test.w(14), '{2}'), '{weak,vital}', '{0,0}', '{1,1}',
  '{failed,failed}', null, '{x,y}') f order by item$$, $$values ('skipped'), ('failed')$$, 'a skip and a failure of one run in one batch');
select is((select array_agg(step_slug || ':' || status order by step_slug) from pgflow.step_states where run_id = pgflow_test.w(14)),
  '{next:created,vital:failed,weak:skipped}', 'the run is over, so nothing follows');
select is_empty('select * from pgflow_test.violations()', 'nothing is broken');

select * from finish();
rollback;
