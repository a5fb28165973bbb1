begin;
select plan(35);

-- a root map
select pgflow.create_flow('each', max_attempts => 1);
select pgflow.add_step('each', 'item', step_type => 'map');
select pgflow.add_step('each', 'sum', '{item}');
select pgflow.start_flow('each', '[{"n": 1}, null, "x", [9007199254740993]]', pgflow_test.w(11));
select results_eq('select task_index, input, status from pgflow.step_tasks order by 1',
  $$values (0, '{"n": 1}'::jsonb, 'queued'), (1, 'null', 'queued'), (2, '"x"', 'queued'), (3, '[9007199254740993]', 'queued')$$,
  'a root map has a task per element of the input, nulls too');
select results_eq('select initial_tasks, remaining_tasks from pgflow.step_states where step_slug = $$item$$', 'values (4, 4)', 'the step counts them');
select results_eq('select task_index, input, flow_input from pgflow_test.claim($$each$$) order by 1',
  $$values (0, '{"n": 1}'::jsonb, null::jsonb), (1, 'null', null), (2, '"x"', null), (3, '[9007199254740993]', null)$$,
  'a task gets the bare element');
select is_empty('select * from pgflow_test.violations()', 'nothing is broken');

-- completion in another order
select is(pgflow_test.report('item', 'completed', '"d"', 3), 'completed', 'the last element completes first');
select is(pgflow_test.report('item', 'completed', null, 1), 'completed', 'another without an output');
select results_eq('select status, remaining_tasks, output from pgflow.step_states where step_slug = $$item$$',
  $$values ('started', 2, null::jsonb)$$, 'the step counts down and has no output yet');
select is_empty('select * from pgflow_test.violations()', 'nothing is broken');
select is(pgflow_test.report('item', 'completed', '{"a": 1}', 0), 'completed', 'a third completes');
select is(pgflow_test.report('item', 'completed', '[]', 2), 'completed', 'the last one completes');
select results_eq('select status, remaining_tasks, output from pgflow.step_states where step_slug = $$item$$',
  $$values ('completed', 0, '[{"a": 1}, null, [], "d"]'::jsonb)$$, 'its output is the array in index order, nulls kept');
select results_eq('select step_slug, input from pgflow_test.claim($$each$$)',
  $$values ('sum', '{"item": [{"a": 1}, null, [], "d"]}'::jsonb)$$, 'a single step after it gets the array');
select pgflow_test.report('sum', 'completed', '4');
select is((select output from pgflow.runs), '{"sum": 4}', 'the run completes');

-- all in one batch, several runs in one
select pgflow.start_flows('each', array['[1, 2, 3]', '[4]']::jsonb[]);
select is(pgflow_test.work('each', '{"v": 1}'), 6, 'two maps and what follows are worked off');
select results_eq('select output from pgflow.step_states where step_slug = $$item$$ and run_id <> pgflow_test.w(11) order by jsonb_array_length(output)',
  $$values ('[{"v": 1}]'::jsonb), ('[{"v": 1}, {"v": 1}, {"v": 1}]')$$, 'each has its own array; a map of one element too');
select is_empty('select * from pgflow_test.violations()', 'nothing is broken');

-- an empty map
select pgflow.start_flow('each', '[]', pgflow_test.w(12));
select results_eq('select step_slug, status, initial_tasks, remaining_tasks, output from pgflow.step_states where run_id = pgflow_test.w(12) order by 1',
  $$values ('item', 'completed', 0, 0, '[]'::jsonb), ('sum', 'started', 1, 1, null)$$, 'an empty map is complete at once');
select results_eq('select step_slug, input from pgflow_test.claim($$each$$)', $$values ('sum', '{"item": []}'::jsonb)$$, 'what follows gets []');
select is_empty('select * from pgflow_test.violations()', 'nothing is broken');

-- maps after maps
select pgflow.create_flow('chain');
select pgflow.add_step('chain', 'list');
select pgflow.add_step('chain', 'first', '{list}', step_type => 'map');
select pgflow.add_step('chain', 'second', '{first}', step_type => 'map');
select pgflow.add_step('chain', 'third', '{second}', step_type => 'map');
select pgflow.start_flow('chain', '1', pgflow_test.w(13));
select pgflow_test.claim('chain');
select pgflow_test.report('list', 'completed', '[]');
select is((select array_agg(step_slug || ':' || status || ':' || output::text order by step_slug) from pgflow.step_states where run_id = pgflow_test.w(13)),
  '{first:completed:[],list:completed:[],second:completed:[],third:completed:[]}', 'an empty list completes every map after it');
select results_eq('select status, output from pgflow.runs where run_id = pgflow_test.w(13)', $$values ('completed', '{"third": []}'::jsonb)$$,
  'and the run');
select is((select count(*) from pgflow.step_tasks where run_id = pgflow_test.w(13)), 1::bigint, 'without a task');

select pgflow.start_flow('chain', '1', pgflow_test.w(14));
select pgflow_test.claim('chain');
select pgflow_test.report('list', 'completed', '[7, 8]', run_id => pgflow_test.w(14));
select is((select array_agg(input order by task_index) from pgflow.step_tasks where run_id = pgflow_test.w(14) and step_slug = 'first'),
  '{7,8}', 'a map over a single step has its elements');
select is(pgflow_test.work('chain', '{"k": 5}'), 6, 'the maps are worked off');
select is((select array_agg(input order by task_index) from pgflow.step_tasks where run_id = pgflow_test.w(14) and step_slug = 'third'),
  array['{"k": 5}', '{"k": 5}']::jsonb[], 'a map over a map has the outputs of its tasks');
select is((select output from pgflow.runs where run_id = pgflow_test.w(14)), '{"third": [{"k": 5}, {"k": 5}]}', 'a map may be a leaf');

-- a skipped dependency
select pgflow.create_flow('gap', max_attempts => 1);
select pgflow.add_step('gap', 'list', when_exhausted => 'skip');
select pgflow.add_step('gap', 'each', '{list}', step_type => 'map');
select pgflow.add_step('gap', 'end', '{each}');
select pgflow.start_flow('gap', '1', pgflow_test.w(15));
select pgflow_test.claim('gap');
select is(pgflow_test.report('list', 'permanent', 'broken', run_id => pgflow_test.w(15)), 'skipped', 'a list is skipped');
select results_eq('select step_slug, status, output from pgflow.step_states where run_id = pgflow_test.w(15) order by 1',
  $$values ('each', 'completed', '[]'::jsonb), ('end', 'started', null), ('list', 'skipped', null)$$, 'its map has no elements and completes with []');

-- a map that fails
select pgflow.start_flow('each', '[1, 2, 3, 4]', pgflow_test.w(16));
select pgflow_test.claim('each', qty => 2);
select is(pgflow_test.report('item', 'completed', '1', 0, pgflow_test.w(16)), 'completed', 'one element completes');
select is(pgflow_test.report('item', 'failed', 'no', 1, pgflow_test.w(16)), 'failed', 'another fails for good');
select results_eq('select task_index, status from pgflow.step_tasks where run_id = pgflow_test.w(16) order by 1',
  $$values (0, 'completed'), (1, 'failed'), (2, 'cancelled'), (3, 'cancelled')$$, 'the others are cancelled');
select results_eq('select status, remaining_tasks, error_message from pgflow.step_states where run_id = pgflow_test.w(16) and step_slug = $$item$$',
  $$values ('failed', 3, 'no')$$, 'the step fails with the error');
select is((select status from pgflow.runs where run_id = pgflow_test.w(16)), 'failed', 'and the run');
select is((select count(*) from pgflow_test.live_messages() where queue_name = 'each'), 1::bigint, 'only the message of the other run is left');
select is_empty('select * from pgflow_test.violations()', 'nothing is broken');

select * from finish();
rollback;
