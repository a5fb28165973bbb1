-- add_step: structure, options and checks.
begin;
select plan(43);

select pgflow.create_flow('f');

select results_eq(
  $$ select step_slug, step_type, step_index, deps_count, queue_name, opt_max_attempts, opt_base_delay, opt_timeout,
            opt_start_delay, when_unmet, when_exhausted, wants_flow_input, contract
     from pgflow.add_step('f', 'a') $$,
  $$ values ('a'::text, 'single'::text, 0, 0, 'f'::text, null::int, null::int, null::int, null::int,
             'skip'::text, 'fail'::text, false, null::text) $$,
  'a step inherits its options and goes to the default queue');
select results_eq(
  $$ select step_index, deps_count, opt_max_attempts, opt_base_delay, opt_timeout, opt_start_delay,
            required_input_pattern, forbidden_input_pattern, when_unmet, when_exhausted
     from pgflow.add_step('f', 'b', array['a'], 2, 0, 7, 30, 'single', '{"x": 1}', '{"y": 2}', 'fail', 'skip-cascade') $$,
  $$ values (1, 1, 2, 0, 7, 30, '{"x": 1}'::jsonb, '{"y": 2}'::jsonb, 'fail'::text, 'skip-cascade'::text) $$,
  'given values are stored, and steps are numbered in order');
select results_eq(
  $$ select dep_slug, step_slug from pgflow.deps $$, $$ values ('a'::text, 'b'::text) $$,
  'the dependency is stored');
select lives_ok($$ select pgflow.add_step('f', 'm', array['a'], step_type => 'map') $$, 'a map has one dependency');
select lives_ok($$ select pgflow.add_step('f', 'root_map', step_type => 'map') $$, 'or none');
select is((select deps_count from pgflow.add_step('f', 'c', array['b', 'm'])), 2, 'a step has several');
select is((select deps_count from pgflow.add_step('f', 'd', null)), 0, 'null is no dependency');

select is((select step_index from pgflow.add_step('f', 'a')), 0, 'adding a step again returns it');
select is((select opt_max_attempts from pgflow.add_step('f', 'a', max_attempts => 9)), null,
  'an existing step keeps its options');
select is((select step_index from pgflow.add_step('f', 'c', array['m', 'b'])), 4, 'dependencies are a set');
select is((select count(*) from pgflow.steps), 6::bigint, 'and adds none');
select throws_ok($$ select pgflow.add_step('f', 'a', step_type => 'map') $$, '55000',
  'step "a" of flow "f" exists with another structure: step_type is single, given map',
  'refuses another type of an existing step');
select throws_ok($$ select pgflow.add_step('f', 'c', array['b']) $$, '55000',
  'step "c" of flow "f" exists with another structure: deps_slugs is {b,m}, given {b}',
  'refuses other dependencies of an existing step');
select throws_ok($$ select pgflow.add_step('f', 'a', required_input_pattern => '{}', when_unmet => 'fail') $$, '55000',
  'step "a" of flow "f" exists with another structure: when_unmet is skip, given fail; required_input_pattern is null, given {}',
  'refuses another condition of an existing step, and names each part');
select throws_ok($$ select pgflow.add_step('f', 'a', queue_name => 'elsewhere') $$, '55000',
  'step "a" of flow "f" exists with another structure: queue_name is f, given elsewhere',
  'refuses another route of an existing step');

select throws_ok($$ select pgflow.add_step('nope', 'a') $$, '42704', 'flow "nope" does not exist',
  'refuses an unknown flow');
select throws_ok($$ select pgflow.add_step('f', '1x') $$, '22023',
  'step "1x" of flow "f": the slug is not valid: 1x', 'refuses a slug that is not valid');
select throws_ok($$ select pgflow.add_step('f', null) $$, '22023',
  'step "" of flow "f": the slug is not valid: (null)', 'refuses a step without slug');
select throws_ok($$ select pgflow.add_step('f', 'x', step_type => 'loop') $$, '22023',
  'step "x" of flow "f": step_type is not valid: loop', 'refuses an unknown type');
select throws_ok($$ select pgflow.add_step('f', 'x', when_unmet => 'retry') $$, '22023',
  'step "x" of flow "f": when_unmet is not valid: retry', 'refuses an unknown when_unmet');
select throws_ok($$ select pgflow.add_step('f', 'x', when_exhausted => null) $$, '22023',
  'step "x" of flow "f": when_exhausted is not valid: (null)', 'refuses an unknown when_exhausted');
select throws_ok($$ select pgflow.add_step('f', 'x', required_input_pattern => '[1]') $$, '22023',
  'step "x" of flow "f": required_input_pattern is not valid: [1]', 'refuses a pattern that is no object');
select throws_ok($$ select pgflow.add_step('f', 'x', forbidden_input_pattern => 'null') $$, '22023',
  'step "x" of flow "f": forbidden_input_pattern is not valid: null', 'refuses a JSON null as pattern');
select throws_ok($$ select pgflow.add_step('f', 'x', array['a', 'b'], step_type => 'map') $$, '22023',
  'step "x" of flow "f": deps_slugs of a map step is not valid: {a,b}', 'refuses a map of two dependencies');
select throws_ok($$ select pgflow.add_step('f', 'x', array['zz']) $$, '22023',
  'step "x" of flow "f" depends on unknown step "zz"', 'refuses an unknown dependency');
select throws_ok($$ select pgflow.add_step('f', 'x', array['x']) $$, '22023',
  'step "x" of flow "f" depends on unknown step "x"', 'refuses a dependency on itself');
select throws_ok($$ select pgflow.add_step('f', 'x', array['a', 'a']) $$, '22023',
  'step "x" of flow "f" names dependency "a" twice', 'refuses a dependency twice');
select throws_ok($$ select pgflow.add_step('f', 'x', array[null]::text[]) $$, '22023',
  'step "x" of flow "f" depends on unknown step "(null)"', 'refuses a null dependency');
select throws_ok($$ select pgflow.add_step('f', 'x', start_delay => -1) $$, '22023',
  'step "x" of flow "f": start_delay is -1', 'refuses a negative start delay');
select throws_ok($$ select pgflow.add_step('f', 'x', timeout => 0) $$, '22023',
  'step "x" of flow "f": timeout is 0', 'refuses a timeout of nothing');
select is((select count(*) from pgflow.steps), 6::bigint, 'refusals add no step');

select pgflow.ensure_deployment(pgflow_test.deployment('v1', 'versions'));
select throws_ok($$ select pgflow.add_step('versions', 'x') $$, '42704',
  'flow "versions" does not exist: it is an alias, and its active version is "v1"',
  'an alias is no concrete slug, and the message says so');

-- No step is added to what was compiled as a whole, or has runs.
select throws_matching($$ select pgflow.add_step('v1', 'x') $$, 'step "x" cannot be added to flow "v1": it was compiled as a whole at 20',
  'refuses a flow of a module');
select throws_ok($$ select pgflow.add_step('v1', 'x') $$, '55000', null, 'with the code of a state that does not allow it');
select is((select step_slug from pgflow.add_step('v1', 'a')), 'a', 'a step that it has is returned as ever');
select is(pgflow.ensure_deployment(pgflow_test.deployment('v1', 'versions')) ->> 'compilation', 'verified', 'so its host finds what it knows');
select pgflow.ensure_flow_compiled('shaped', '{"steps": [{"slug": "a", "stepType": "single", "dependencies": []}]}');
select throws_ok($$ select pgflow.add_step('shaped', 'x') $$, '55000', null, 'so does one that an existing client compiled');

select pgflow.create_flow('by_hand');
select pgflow.add_step('by_hand', 'a');
select is((select compiled_at from pgflow.compiled_flows where flow_slug = 'by_hand'), null, 'a flow made step by step was not');
select pgflow.start_flow('by_hand', '{}', '10000000-0000-4000-8000-000000000001');
select throws_ok($$ select pgflow.add_step('by_hand', 'x') $$, '55000', 'step "x" cannot be added to flow "by_hand": it has runs',
  'but has runs');
select pgflow.cancel_run('10000000-0000-4000-8000-000000000001');
select throws_ok($$ select pgflow.add_step('by_hand', 'x') $$, '55000', null, 'also when they have ended');
select is((select step_slug from pgflow.add_step('by_hand', 'a')), 'a', 'the migration of an existing installation can be repeated');

select pgflow.create_flow('adopted');
select pgflow.add_step('adopted', 'a');
select is(pgflow.ensure_deployment(pgflow_test.deployment('adopted')) ->> 'compilation', 'verified', 'a module that agrees with it takes it over');
select throws_ok($$ select pgflow.add_step('adopted', 'x') $$, '55000', null, 'from then on it is compiled');

select * from finish();
rollback;
