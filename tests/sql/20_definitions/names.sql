-- Aliases and concrete slugs are one namespace, ignoring case.
begin;
select plan(8);

select pgflow.create_flow('Plain');
select pgflow.ensure_deployment(pgflow_test.deployment('triage_v1', 'triage'));

select throws_ok($$ select pgflow.create_flow('pLAIN') $$, '42710',
  'flow "pLAIN" with alias "pLAIN" cannot be made: a name is taken by flow "Plain" with alias "Plain"',
  'refuses a slug that differs from another by case only');
select throws_ok($$ select pgflow.create_flow('triage') $$, '42710',
  'flow "triage" with alias "triage" cannot be made: a name is taken by flow "triage_v1" with alias "triage"',
  'refuses a slug that is an alias');
select throws_ok($$ select pgflow.create_flow('TRIAGE') $$, '42710', null,
  'refuses a slug that is an alias in another case');
select throws_ok(
  $$ select pgflow.ensure_deployment(pgflow_test.deployment('other_v1', 'Plain')) $$, '42710',
  'flow "other_v1" with alias "Plain" cannot be made: a name is taken by flow "Plain" with alias "Plain"',
  'refuses an alias that is a plain flow');
select throws_ok(
  $$ select pgflow.ensure_deployment(pgflow_test.deployment('other_v1', 'triage_v1')) $$, '42710', null,
  'refuses an alias that is a concrete slug');
select throws_ok(
  $$ select pgflow.ensure_deployment(pgflow_test.deployment('triage_v2', 'Triage')) $$, '42710', null,
  'refuses an alias that differs from another by case only');
select lives_ok(
  $$ select pgflow.ensure_deployment(pgflow_test.deployment('triage_v2', 'triage')) $$,
  'an alias has several versions');
select is(
  (select alias from pgflow.create_flow('triage_v2')), 'triage',
  'a version that exists is returned as it is by create_flow');

select * from finish();
rollback;
