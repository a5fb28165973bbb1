-- Option drift, flow_option_drift and apply_flow_options.
begin;
select plan(16);

create temporary table deployment as select jsonb '{"flowSlug": "f", "options": {"maxAttempts": 2},
  "steps": [{"slug": "a", "wantsFlowInput": false, "options": {"timeout": 10}}, {"slug": "b"}]}' as given;
create temporary table changed as select jsonb '{"flowSlug": "f", "options": {"baseDelay": 1},
  "steps": [{"slug": "a", "wantsFlowInput": true, "options": {"maxAttempts": 9}}, {"slug": "b", "options": {"startDelay": 60}}]}' as given;
select pgflow.ensure_deployment(given) from deployment;

select is(pgflow.ensure_deployment(given) -> 'optionDrift', '[]', 'no drift when the options are the stored ones') from deployment;
select is(pgflow.ensure_deployment(given) -> 'optionDrift',
  '["maxAttempts of the flow: 2 in the database, 3 in the deployment",
    "baseDelay of the flow: 5 in the database, 1 in the deployment",
    "maxAttempts of step \"a\": none in the database, 9 in the deployment",
    "timeout of step \"a\": 10 in the database, none in the deployment",
    "wantsFlowInput of step \"a\": false in the database, true in the deployment",
    "startDelay of step \"b\": none in the database, 60 in the deployment"]',
  'drift names each option with both values') from changed;
select is(pgflow.ensure_deployment(given) ->> 'compilation', 'verified', 'drift is no mismatch') from changed;
select is((select opt_max_attempts from pgflow.flows), 2, 'options of a verified deployment stay as stored');

select is(cardinality(pgflow.flow_option_drift('f', given)), 6, 'asking tells each difference') from changed;
select is((select opt_max_attempts from pgflow.flows), 2, 'and changes nothing');
select throws_ok($$ select pgflow.flow_option_drift('f', '{"steps": [{"slug": "a"}]}') $$, '55000',
  'the options are not those of flow "f": step 1 "b" is in the database only', 'another structure is not compared');
select throws_ok($$ select pgflow.flow_option_drift('nope', '{"steps": []}') $$, '42704', 'flow "nope" does not exist',
  'nor is an unknown flow');

select is(cardinality(pgflow.apply_flow_options('f', given)), 6, 'applying options returns what changed') from changed;
select results_eq($$ select opt_max_attempts, opt_base_delay, opt_timeout from pgflow.flows $$, $$ values (3, 1, 60) $$,
  'the flow has the module''s options');
select results_eq(
  $$ select opt_max_attempts, opt_timeout, opt_start_delay, wants_flow_input from pgflow.steps order by step_index $$,
  $$ values (9, null::int, null::int, true), (null, null, 60, false) $$, 'so have the steps');
select is(pgflow.apply_flow_options('f', given), '{}', 'applying them again changes nothing') from changed;
select pgflow.apply_flow_options('f', '{"steps": [{"slug": "a"}, {"slug": "b"}]}');
select is((select wants_flow_input from pgflow.steps where step_slug = 'a'), true,
  'a shape that does not speak of the flow input leaves it');

select throws_ok($$ select pgflow.apply_flow_options('f', '{"steps": [{"slug": "a"}]}') $$, '55000',
  'the options are not those of flow "f": step 1 "b" is in the database only', 'refuses another structure');
select throws_ok($$ select pgflow.apply_flow_options('f', '{"steps": [{"slug": "a", "options": {"timeout": 0}}, {"slug": "b"}]}') $$,
  '22023', null, 'refuses an option out of range');
select throws_ok($$ select pgflow.apply_flow_options('nope', '{"steps": []}') $$, '42704', 'flow "nope" does not exist',
  'refuses an unknown flow');

select * from finish();
rollback;
