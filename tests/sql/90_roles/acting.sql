-- What the roles can really do, and that a login is recorded by its own name.
begin;
select plan(21);

create role pgflow_test_host login in role pgflow_worker;
create role pgflow_test_app login in role pgflow_client;
create role pgflow_test_admin login in role pgflow_operator;
grant usage on schema pgflow_test to public;
grant execute on all functions in schema pgflow_test to public;

-- A host
set session authorization pgflow_test_host;
select is(pgflow.ensure_deployment('{"flowSlug": "v1", "alias": "v", "steps": [{"slug": "a"}]}') ->> 'compilation', 'compiled', 'a worker deploys');
select is(pgflow.register_worker('00000000-0000-0000-0000-000000000001', 'v1', 'fn', array[('v1', 'a')]::pgflow.task_pair[]), 'registered', 'registers');
select is((select count(*) from pgflow.missing_coverage('v1', array[('v1', 'a')]::pgflow.task_pair[])), 0::bigint, 'looks at coverage');
select is((select activation from pgflow.offer_activation('v1', '00000000-0000-0000-0000-000000000001')), 'active', 'offers activation');
select is((select outcome from pgflow.read_and_claim_tasks('v1', 1, 5, '00000000-0000-0000-0000-000000000001')), 'empty', 'claims');
select throws_ok($$ select pgflow.start_flow('v', '{}') $$, '42501', null, 'starts nothing');
select throws_ok($$ select pgflow.activate_flow('v', 'v1') $$, '42501', null, 'switches nothing but by offers');
select throws_ok($$ select from pgflow.step_tasks $$, '42501', null, 'and reads no table');
select throws_ok($$ select pgflow._lock_name('v') $$, '42501', null, 'nor calls anything internal');

-- A client
set session authorization pgflow_test_app;
select is((select flow_slug from pgflow.start_flow('v', '{}', '00000000-0000-0000-0000-00000000000a')), 'v1', 'a client starts runs');
select is(pgflow.get_run_with_states('00000000-0000-0000-0000-00000000000a') #>> '{run,status}', 'started', 'looks at one by its id');
select is((select count(*) from pgflow.flows f join pgflow.steps s using (flow_slug)), 1::bigint, 'reads flows and steps');
select throws_ok($$ select from pgflow.runs $$, '42501', null, 'and no runs of others');
select throws_ok($$ select pgflow.cancel_run('00000000-0000-0000-0000-00000000000a', 'x') $$, '42501', null, 'nor ends one');

-- An operator
set session authorization pgflow_test_admin;
select is((select count(*) from pgflow.runs), 1::bigint, 'an operator reads everything');
select throws_ok($$ delete from pgflow.runs $$, '42501', null, 'and writes by functions only');
select is((select safe_to_retire from pgflow.drain_status('v1')), false, 'looks at the drain');
select is((select status from pgflow.cancel_run('00000000-0000-0000-0000-00000000000a', 'x')), 'cancelled', 'cancels runs');
select pgflow.create_flow('plain');
select throws_ok($$ select pgflow.read_and_claim_tasks('v1', 1, 5, '00000000-0000-0000-0000-000000000001') $$, '42501', null, 'and claims no work');

reset session authorization;
select is((select by from pgflow.alias_switches where alias = 'v'), 'pgflow_test_host', 'a switch is recorded under the login that made it');
select is((select by from pgflow.alias_switches where alias = 'plain'), 'pgflow_test_admin', 'not under the owner of the function');

select * from finish();
rollback;
