begin;
select plan(30);

select pgflow.ensure_deployment(pgflow_test.deployment('order_v1', 'order'));
select pgflow.ensure_deployment(pgflow_test.deployment('order_v2', 'order'));
select pgflow_test.chain('other');
create temp table one as select * from pgflow.start_flow('order', '{"n": 1}', null, '{"idempotencyKey": "k1"}');
select results_eq('select flow_slug, status, input, remaining_steps, is_new from one', $$values ('order_v1', 'started', '{"n": 1}'::jsonb, 1, true)$$, 'a start with a new key starts');
select results_eq($$select run_id, is_new from pgflow.start_flow('order', '{"n": 1.0}', null, '{"idempotencyKey": "k1"}')$$, 'select run_id, false from one', 'the same key again gives the run that exists; equal is what jsonb has equal');
select is((select count(*) from pgflow.runs), 1::bigint, 'and starts nothing');
select is((select run_id from pgflow.start_flow('order_v1', '{"n": 1}', null, '{"idempotencyKey": "k1"}')), (select run_id from one), 'by the slug of a version too');
select is((select run_id from pgflow.start_flow('order', '{"n": 1}', pgflow_test.w(11), '{"idempotencyKey": "k1"}')), (select run_id from one), 'with a run id too');
select throws_ok($$select * from pgflow.start_flow('order', '{"n": 2}', null, '{"idempotencyKey": "k1"}')$$, '23505', 'idempotencyKey "k1" was used with another input', 'another input is an error');
select isnt((select run_id from pgflow.start_flow('other', '{"n": 1}', null, '{"idempotencyKey": "k1"}')), (select run_id from one), 'another alias has keys of its own');
select isnt((select run_id from pgflow.start_flow('order', '{"n": 1}', null, '{"idempotencyKey": "K1"}')), (select run_id from one), 'keys are case sensitive');
select pgflow_test.work('order_v1');
select is((select status from pgflow.start_flow('order', '{"n": 1}', null, '{"idempotencyKey": "k1"}')), 'completed', 'a run that has ended is given as it is');
select pgflow.activate_flow('order', 'order_v2', true);
select is((select run_id from pgflow.start_flow('order', '{"n": 1}', null, '{"idempotencyKey": "k1"}')), (select run_id from one), 'after a switch of the alias too');

-- without a key
select ok((select is_new from pgflow.start_flow('order', '{}', pgflow_test.w(12), null)), 'no options start');
select ok((select is_new from pgflow.start_flow('order', '{}', null, '{}')), 'empty options start');
select ok((select is_new from pgflow.start_flow('order', '{}', null, '{"idempotencyKey": null}')), 'a null key starts');
select throws_ok($$select * from pgflow.start_flow('order', '{}', pgflow_test.w(12), null)$$, '23505', null, 'a run id twice is an error as ever');

-- refusals
select throws_ok($$select * from pgflow.start_flow('order', '{}', null, '{"idempotencykey": "k"}')$$, '22023', 'a start has no option "idempotencykey"', 'an unknown option');
select throws_ok($$select * from pgflow.start_flow('order', '{}', null, '[]')$$, '22023', 'the options of a start are of type array', 'options that are no object');
select throws_ok($$select * from pgflow.start_flow('order', '{}', null, '{"idempotencyKey": 17}')$$, '22023', 'idempotencyKey is of type number', 'a key that is no text');
select throws_ok($$select * from pgflow.start_flow('order', '{}', null, '{"idempotencyKey": ""}')$$, '22023', 'idempotencyKey 1 has 0 characters', 'an empty key');
select throws_ok(format($$select * from pgflow.start_flow('order', '{}', null, '{"idempotencyKey": "%s"}')$$, repeat('k', 256)), '22023', 'idempotencyKey 1 has 256 characters', 'a key that is too long');
select throws_ok($$select * from pgflow.start_flow('nowhere', '{}', null, '{"idempotencyKey": "k"}')$$, '42704', null, 'an unknown flow');
select throws_ok($$select * from pgflow.start_flow('order', null, null, '{"idempotencyKey": "knull"}')$$, '22004', null, 'a null input');

-- many
create temp table many as select r, row_number() over () as place
from pgflow.start_flows('order', array['{"n": 1}', '{"n": 5}', '{"n": 6}', '{"n": 5}', '{"n": 7}', '{"n": 7}']::jsonb[], '{"idempotencyKey": ["k1", "k5", "k6", "k5", null, null]}') r;
select is((select r from many where place = 1), (select run_id from one), 'a run that exists stands in its place');
select is((select r from many where place = 4), (select r from many where place = 2), 'the same key twice is one run');
select is((select count(distinct r) from many), 5::bigint, 'without a key each is a run');
select results_eq('select r.input from many m join pgflow.runs r on r.run_id = m.r order by m.place', $$values ('{"n": 1}'::jsonb), ('{"n": 5}'), ('{"n": 6}'), ('{"n": 5}'), ('{"n": 7}'), ('{"n": 7}')$$, 'in the order of the inputs');
select throws_ok($$select pgflow.start_flows('order', array['{"n": 8}', '{"n": 9}']::jsonb[], '{"idempotencyKey": ["k8", "k8"]}')$$, '23505', 'idempotencyKey "k8" was used with another input', 'the same key with two inputs in one call');
select throws_ok($$select pgflow.start_flows('order', array['{"n": 8}']::jsonb[], '{"idempotencyKey": ["k8", "k9"]}')$$, '22023', null, 'another number of keys');
select is_empty($$select pgflow.start_flows('order', '{}'::jsonb[], '{"idempotencyKey": []}')$$, 'none is none');
select is_empty('select * from pgflow_test.violations()', 'nothing is broken');

-- a key goes with its run
select pgflow.prune_data_older_than('0');
select ok((select is_new from pgflow.start_flow('order', '{"n": 99}', null, '{"idempotencyKey": "k1"}')), 'a key whose run was deleted is free');

select * from finish();
rollback;
