-- Chains, diamonds, what steps are given and what runs give.
begin;
select plan(26);

select pgflow.create_flow('diamond');
select pgflow.add_step('diamond', 'top');
select pgflow.add_step('diamond', 'left', '{top}');
select pgflow.add_step('diamond', 'right', '{top}');
select pgflow.add_step('diamond', 'bottom', '{left,right}');
select pgflow.add_step('diamond', 'aside', '{top}');
select pgflow.start_flow('diamond', '{"id": 9007199254740993}');

-- the root
select results_eq($$select step_slug, input, flow_input from pgflow_test.claim('diamond')$$,
  $$values ('top', '{}'::jsonb, '{"id": 9007199254740993}'::jsonb)$$, 'a root step gets the input of the run beside its own');
select is(pgflow_test.report('top', 'completed', '{"big": 9007199254740993, "f": 1.10}'), 'completed', 'its completion is recorded');
select is((select output::text from pgflow.step_tasks where step_slug = 'top'), '{"f": 1.10, "big": 9007199254740993}', 'its output is stored with every digit');
select is((select output from pgflow.step_states where step_slug = 'top'), (select output from pgflow.step_tasks where step_slug = 'top'),
  'a single step gives what its task gave');
select is((select count(*) from pgflow_test.archived('diamond')), 1::bigint, 'its message is archived');
select is(pgflow_test.steps(), '{top:completed,left:started,right:started,bottom:created,aside:started}', 'its dependents start');
select is((select remaining_steps from pgflow.runs), 4, 'the run counts down');
select results_eq($$select queue_name from pgflow.step_tasks where status = 'queued' group by 1$$, $$values ('diamond')$$, 'they have tasks on their queue');
select is_empty('select * from pgflow_test.violations()', 'nothing is broken');

-- dependents
select results_eq($$select step_slug, input, flow_input from pgflow_test.claim('diamond') order by 1$$,
  $$values ('aside', '{"top": {"f": 1.10, "big": 9007199254740993}}'::jsonb, null::jsonb), ('left', '{"top": {"f": 1.10, "big": 9007199254740993}}', null),
           ('right', '{"top": {"f": 1.10, "big": 9007199254740993}}', null)$$, 'a dependent gets its dependencies by name');
select is(pgflow_test.report('left', 'completed', '"l"'), 'completed', 'one of two dependencies completes');
select is((select remaining_deps from pgflow.step_states where step_slug = 'bottom'), 1, 'the step that waits for both counts it');
select is((select status from pgflow.step_states where step_slug = 'bottom'), 'created', 'and still waits');
select is(pgflow_test.report('right', 'completed', null), 'completed', 'the other completes without an output');
select is((select output from pgflow.step_states where step_slug = 'right'), 'null', 'which is the JSON null');
select results_eq($$select step_slug, input from pgflow_test.claim('diamond')$$,
  $$values ('bottom', '{"left": "l", "right": null}'::jsonb)$$, 'the step that waited gets both');

-- the end
select is(pgflow_test.report('aside', 'completed', '[1]'), 'completed', 'a leaf completes');
select is((select status from pgflow.runs), 'started', 'the run goes on while a step is open');
select is(pgflow_test.report('bottom', 'completed', '{"ok": true}'), 'completed', 'the last step completes');
select results_eq('select status, remaining_steps, output from pgflow.runs',
  $$values ('completed', 0, '{"aside": [1], "bottom": {"ok": true}}'::jsonb)$$, 'the run completes with the outputs of its leaves');
select ok((select completed_at >= started_at and failed_at is null from pgflow.runs), 'and one end time');
select is((select count(*) from pgflow_test.live_messages()), 0::bigint, 'no message is left');
select is_empty('select * from pgflow_test.violations()', 'nothing is broken');

-- both dependencies in one batch
select pgflow.start_flow('diamond', '1');
select pgflow_test.work('diamond', '{"x": 1}');
select is((select count(*) from pgflow.runs where status = 'completed'), 2::bigint, 'dependencies that complete in one batch free their dependent once');
select is_empty('select * from pgflow_test.violations()', 'nothing is broken');

-- times that run backwards
select pgflow.start_flow('diamond', '1', pgflow_test.w(50));
update pgflow.runs set started_at = '2100-01-01' where run_id = pgflow_test.w(50);
update pgflow.step_states set created_at = '2100-01-01', started_at = case when started_at is not null then '2100-01-01'::timestamptz end where run_id = pgflow_test.w(50);
update pgflow.step_tasks set queued_at = '2100-01-01' where run_id = pgflow_test.w(50);
select pgflow_test.work('diamond', '1');
select is((select status from pgflow.runs where run_id = pgflow_test.w(50)), 'completed', 'a clock that stepped back stops no work');

select * from finish();
rollback;
