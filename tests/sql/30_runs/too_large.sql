-- What does not fit jsonb (256 MiB): an array of a map's outputs, the output of a run. The handlers have done their
-- work and are not run again.
-- A constraint raises here what jsonb raises there, at the word "LARGE": real values of that size take minutes.
begin;
select plan(23);

create function pgflow_test.fits(value jsonb) returns boolean language plpgsql immutable as $$
begin
  if value::text ~ '1.*LARGE' then
    raise exception 'total size of jsonb array elements exceeds the maximum of 268435455 bytes' using errcode = 'program_limit_exceeded';
  end if;
  return true;
end $$;
alter table pgflow.step_states add constraint fits check (pgflow_test.fits(output));
alter table pgflow.runs add constraint fits check (pgflow_test.fits(output));
create function pg_temp.large() returns text language sql as $$ select '"LARGE"' $$;

-- a map, and a healthy one in the same batch
select pgflow.create_flow('f', max_attempts => 3);
select pgflow.add_step('f', 'each', step_type => 'map');
select pgflow.add_step('f', 'end', '{each}');
select pgflow.start_flow('f', '[0, 1]', pgflow_test.w(11));
select pgflow.start_flow('f', '[0]', pgflow_test.w(12));
select pgflow_test.claim('f');
select is(pgflow_test.report('each', 'completed', '1', 0, pgflow_test.w(11)), 'completed', 'a large output is stored');
select results_eq($$select f.outcome from pgflow.finish_tasks(pgflow_test.w(1), array[pgflow_test.w(11), pgflow_test.w(12)], '{each,each}', '{1,0}', '{1,1}',
  '{completed,completed}', array[pg_temp.large(), '1'], null) f order by item$$, $$values ('completed'), ('completed')$$, 'so is the last one');
select results_eq('select status, attempts_count, output is not null from pgflow.step_tasks where run_id = pgflow_test.w(11) order by task_index',
  $$values ('completed', 1, true), ('completed', 1, true)$$, 'both tasks stay completed, with their outputs');
select is((select status from pgflow.step_states where run_id = pgflow_test.w(11) and step_slug = 'each'), 'failed', 'the step fails');
select matches((select error_message from pgflow.step_states where run_id = pgflow_test.w(11) and step_slug = 'each'),
  '^\[OUTPUT_TOO_LARGE\] the outputs of the 2 tasks do not fit into one array: ', 'and says why');
select is((select status from pgflow.runs where run_id = pgflow_test.w(11)), 'failed', 'so does the run');
select is((select output from pgflow.step_states where run_id = pgflow_test.w(12) and step_slug = 'each'), '[1]', 'another map of the batch is not touched by it');
select is((select status from pgflow.step_states where run_id = pgflow_test.w(12) and step_slug = 'end'), 'started', 'its run goes on');
select is_empty('select * from pgflow_test.violations()', 'nothing is broken');

-- a map that may be skipped
select pgflow.create_flow('s', max_attempts => 3);
select pgflow.add_step('s', 'each', step_type => 'map', when_exhausted => 'skip');
select pgflow.add_step('s', 'end', '{each}');
select pgflow.start_flow('s', '[0, 1]', pgflow_test.w(13));
select pgflow_test.claim('s');
select pgflow_test.report('each', 'completed', '1', 0, pgflow_test.w(13));
select is(pgflow_test.report('each', 'completed', pg_temp.large(), 1, pgflow_test.w(13)), 'completed', 'an array that is too large');
select results_eq('select status, skip_reason from pgflow.step_states where run_id = pgflow_test.w(13) and step_slug = $$each$$', $$values ('skipped', 'handler_failed')$$, 'skips a step that may be skipped');
select is((select status from pgflow.step_states where run_id = pgflow_test.w(13) and step_slug = 'end'), 'started', 'and the run goes on');
select is_empty('select * from pgflow_test.violations()', 'nothing is broken');

-- the output of a run, and a healthy run in the same batch
select pgflow.create_flow('r', max_attempts => 3);
select pgflow.add_step('r', 'a');
select pgflow.add_step('r', 'b');
select pgflow.start_flow('r', '1', pgflow_test.w(14));
select pgflow.start_flow('r', '1', pgflow_test.w(15));
select pgflow_test.claim('r');
select pgflow_test.report('b', 'completed', '1', 0, pgflow_test.w(15));
select is(pgflow_test.report('a', 'completed', '1', 0, pgflow_test.w(14)), 'completed', 'the first leaf is large');
select results_eq($$select f.outcome from pgflow.finish_tasks(pgflow_test.w(1), array[pgflow_test.w(14), pgflow_test.w(15)], '{b,a}', '{0,0}', '{1,1}',
  '{completed,completed}', array[pg_temp.large(), '1'], null) f order by item$$, $$values ('completed'), ('completed')$$, 'the second as well');
select results_eq('select status, remaining_steps, output from pgflow.runs where run_id = pgflow_test.w(14)', $$values ('failed', 1, null::jsonb)$$, 'a run whose output does not fit fails');
select results_eq('select step_slug, status, error_message from pgflow.step_states where run_id = pgflow_test.w(14) order by 1',
  $$values ('a', 'completed', null), ('b', 'failed', '[OUTPUT_TOO_LARGE] the outputs of the leaf steps do not fit into the output of the run')$$, 'the leaf that came last says why');
select is((select output is not null from pgflow.step_tasks where run_id = pgflow_test.w(14) and step_slug = 'b'), true, 'its task keeps its output');
select results_eq('select status, output from pgflow.runs where run_id = pgflow_test.w(15)', $$values ('completed', '{"a": 1, "b": 1}'::jsonb)$$, 'another run of the batch completes');
select is_empty('select * from pgflow_test.violations()', 'nothing is broken');

-- the step that ends such a run need not be a leaf with an output
select pgflow.create_flow('l', max_attempts => 1);
select pgflow.add_step('l', 'a'), pgflow.add_step('l', 'b'), pgflow.add_step('l', 'c', when_exhausted => 'skip');
select pgflow.start_flow('l', '1', pgflow_test.w(16));
select pgflow_test.claim('l');
select pgflow_test.report('a', 'completed', '1', 0, pgflow_test.w(16));
select pgflow_test.report('b', 'completed', pg_temp.large(), 0, pgflow_test.w(16));
select is(pgflow_test.report('c', 'permanent', 'no', 0, pgflow_test.w(16)), 'skipped', 'a run that a skip would complete');
select results_eq($$select step_slug, status from pgflow.step_states where run_id = pgflow_test.w(16) order by 1$$,
  $$values ('a', 'completed'), ('b', 'failed'), ('c', 'skipped')$$, 'fails by the leaf that came last');
select is_empty('select * from pgflow_test.violations()', 'nothing is broken');

select * from finish();
rollback;
