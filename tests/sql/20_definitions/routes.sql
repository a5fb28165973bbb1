-- The queue of a step added by add_step.
begin;
select plan(14);

select pgflow.create_flow('F');
select is((select queue_name from pgflow.add_step('F', 'a')), 'f', 'no name: the default queue');
select is((select queue_name from pgflow.add_step('F', 'b', queue_name => 'f')), 'f', 'the default queue may be named');
select is((select queue_mode from pgflow.flows), 'flow', 'and the mode stays flow');
select is((select queue_name from pgflow.add_step('F', 'c', queue_name => 'Mail-Out')), 'mail-out',
  'another queue is made, its name in lower case');
select results_eq($$ select kind, owner_flow_slug from pgflow.queues where queue_name = 'mail-out' $$,
  $$ values ('shared'::text, null::text) $$, 'as shared');
select is((select queue_mode from pgflow.flows), 'routed', 'and the flow is routed from then on');
select is((select queue_name from pgflow.add_step('F', 'd')), 'f', 'its default queue stays one of its routes');

-- A flow of such a mode was compiled as a whole and gets no further step, unless that was before version 2.
select pgflow.ensure_deployment(pgflow_test.deployment('per_step', queue_mode => 'step'));
delete from pgflow.compiled_flows;
select is((select queue_name from pgflow.add_step('per_step', 'Late')), 'per_step__late',
  'in a flow of mode step each step gets its private queue');
select results_eq($$ select kind, owner_flow_slug from pgflow.queues where queue_name = 'per_step__late' $$,
  $$ values ('step'::text, 'per_step'::text) $$, 'owned by the flow');

select pgflow.ensure_deployment(pgflow_test.deployment('named', queue_mode => 'routed', routes => '{"a": "mail-out"}'));
delete from pgflow.compiled_flows;
select throws_ok($$ select pgflow.add_step('named', 'b') $$, '22023', 'step "b" of routed flow "named" names no queue',
  'in a routed flow without default queue a step must name one');
select throws_ok($$ select pgflow.add_step('named', 'b', queue_name => 'F') $$, '55000',
  'queue "f" is private to flow "F" and cannot serve flow "named"', 'refuses the private queue of another flow');
select throws_ok($$ select pgflow.add_step('named', 'b', queue_name => 'a$b') $$, '22023',
  'queue name "a$b" is not valid', 'refuses characters that PGMQ would not take');
select throws_ok($$ select pgflow.add_step('named', 'b', queue_name => repeat('q', 48)) $$, '22023',
  'queue name "' || repeat('q', 48) || '" has 48 bytes; the limit is 47', 'refuses a name over 47 bytes');
select is((select count(*) from pgflow.steps where flow_slug = 'named'), 1::bigint, 'refusals add no step');

select * from finish();
rollback;
