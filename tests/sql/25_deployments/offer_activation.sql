-- offer_activation: hosts switch an alias forward, never back.
begin;
select plan(33);

create function pg_temp.offer(flow text, host uuid)
returns text
language sql
as $$ select activation from pgflow.offer_activation(flow, host) $$;

select pgflow.ensure_deployment(pgflow_test.deployment('v1', 'v', 'routed', '{a,b<a}', '{"a": "qa", "b": "qb"}'));
select pgflow.ensure_deployment(pgflow_test.deployment('v2', 'v', 'routed', '{a,b<a}', '{"a": "qa", "b": "qb"}'));
create temporary table host as select pgflow_test.put_worker('qa', 'f_a', '{v1/a,v2/a,v3/a}') as a;

select results_eq($$ select * from pgflow.offer_activation('v1', (select a from host)) $$,
  $$ values ('active'::text, 'v1'::text, '{}'::text[], '{}'::text[]) $$, 'the active version is active');
select results_eq($$ select * from pgflow.offer_activation('v2', (select a from host)) $$,
  $$ values ('waiting'::text, 'v1'::text, '{qb}'::text[], '{"queue \"qb\" has no live worker"}'::text[]) $$,
  'a version waits for the workers of every queue, which are named');
select is((select active_flow_slug from pgflow.flow_aliases), 'v1', 'a worker missing for one queue blocks the switch');

alter table host add column b uuid;
update host set b = pgflow_test.put_worker('qb', 'f_b', '{v1/b,v2/b,v3/b}');
select results_eq($$ select * from pgflow.offer_activation('v2', (select b from host)) $$,
  $$ values ('activated'::text, 'v2'::text, '{}'::text[], '{}'::text[]) $$, 'it is made when the last one comes up');
select results_eq($$ select from_flow_slug, to_flow_slug, worker_id, forced from pgflow.alias_switches order by switch_id desc limit 1 $$,
  $$ select 'v1'::text, 'v2'::text, b, false from host $$, 'recorded with the worker that offered');
select is(pg_temp.offer('v2', (select a from host)), 'active', 'the other host finds it active');
select is(pg_temp.offer('v1', (select a from host)), 'superseded', 'a restarted old host takes nothing back');

-- V3 after V2's offer
select pgflow.ensure_deployment(pgflow_test.deployment('v3', 'v', 'routed', '{a,b<a}', '{"a": "qa", "b": "qb"}'));
select is(pg_temp.offer('v3', (select a from host)), 'activated', 'a version that was compiled later overtakes');
select is(pg_temp.offer('v2', (select a from host)), 'superseded', 'the one before, active once, does not come back');

-- An operator goes back: versions compiled before that stay where they are
select pgflow.activate_flow('v', 'v2');
select is(pg_temp.offer('v3', (select a from host)), 'superseded', 'an operator''s switch back is not undone by hosts');
select pgflow.ensure_deployment(pgflow_test.deployment('v4', 'v'));
select pgflow_test.put_worker('v4', 'f_4', '{v4/a}');
select is(pg_temp.offer('v4', (select a from host)), 'activated', 'a version compiled after the operator''s switch may become active');

-- alias V1, V2 (manual, never active), V3 active; V2's host restarts
select pgflow.ensure_deployment(pgflow_test.deployment('m1', 'm', 'routed', '{a}', '{"a": "qm"}'));
select pgflow.ensure_deployment(pgflow_test.deployment('m2', 'm', 'routed', '{a}', '{"a": "qm"}'));
select pgflow.ensure_deployment(pgflow_test.deployment('m3', 'm', 'routed', '{a}', '{"a": "qm"}'));
alter table host add column m uuid;
update host set m = pgflow_test.put_worker('qm', 'f_m', '{m1/a,m2/a,m3/a}');
select is(pg_temp.offer('m3', (select m from host)), 'activated', 'the newest version skips one that was never active');
select is(pg_temp.offer('m2', (select m from host)), 'superseded', 'which is older than the active one and stays so');

-- V2 waits for a worker, V3 compiled, V2 activates, V3 covered
select pgflow.ensure_deployment(pgflow_test.deployment('w1', 'w', 'routed', '{a}', '{"a": "qw"}'));
select pgflow.ensure_deployment(pgflow_test.deployment('w2', 'w', 'routed', '{a}', '{"a": "qw"}'));
select pgflow.ensure_deployment(pgflow_test.deployment('w3', 'w', 'routed', '{a}', '{"a": "qw3"}'));
alter table host add column w uuid;
update host set w = pgflow_test.put_worker('qw', 'f_w', '{w1/a,w2/a}');
select is(pg_temp.offer('w3', (select w from host)), 'waiting', 'the newest waits for its queue');
select is(pg_temp.offer('w2', (select w from host)), 'activated', 'meanwhile the one before it may become active');
select pgflow_test.put_worker('qw3', 'f_w3', '{w3/a}');
select is(pg_temp.offer('w3', (select w from host)), 'activated', 'and the newest wins in the end');

-- Who offers
select pgflow.ensure_deployment(pgflow_test.deployment('w4', 'w', 'routed', '{a}', '{"a": "qw3"}'));
insert into pgflow.worker_task_pairs (worker_id, flow_slug, step_slug) select worker_id, 'w4', 'a' from pgflow.workers where function_name = 'f_w3';
select results_eq($$ select activation, queues, reasons from pgflow.offer_activation('w4', null) $$,
  $$ values ('waiting'::text, '{(none)}'::text[], '{"worker (null), which offers, is not live and working"}'::text[]) $$,
  'an offer of nobody changes nothing');
update pgflow.workers set deprecated_at = clock_timestamp() where worker_id = (select w from host);
select is(pg_temp.offer('w4', (select w from host)), 'waiting', 'nor does the offer of a deprecated host');
select throws_ok($$ select pgflow.offer_activation('nope', null) $$, '42704', 'flow "nope" does not exist', 'refuses an unknown flow');
select pgflow.retire_flow('w4');
select is(pg_temp.offer('w4', (select worker_id from pgflow.workers where function_name = 'f_w3')), 'superseded',
  'a retired version is superseded');

-- A namesake that was deleted does not count
select pgflow.delete_flow_and_data('v4');
select pgflow.ensure_deployment(pgflow_test.deployment('v4', 'v'));
select is(pg_temp.offer('v4', (select a from host)), 'activated', 'a version that was deleted and compiled anew is a new one');
select ok((select created_at > (select max(at) from pgflow.alias_switches where alias = 'v' and to_flow_slug <> 'v4')
           from pgflow.flows where flow_slug = 'v4'), 'and later than every switch before it');

-- An alias without active version
select pgflow.delete_flow_and_data('m3');
select is_empty($$ select from pgflow.flow_aliases where alias = 'm' and active_flow_slug <> 'm1' $$, 'the alias is back at the version before');
select pgflow.delete_flow_and_data('m1');
select is(pg_temp.offer('m2', (select m from host)), 'activated',
  'an alias that lost its active version takes one that is covered, although it is older than that deletion');

-- Who may move an alias that has an active version: an operator's login, whatever role the function runs as
create role pgflow_test_host login in role pgflow_worker;
create role pgflow_test_operating_host login in role pgflow_worker, pgflow_operator;
grant usage on schema pgflow_test to public;
grant execute on all functions in schema pgflow_test to public;
create temporary table o_worker as select pgflow_test.put_worker('o2', 'f_o', '{o2/a}') as id;
grant select on o_worker to public;

set session authorization pgflow_test_host;
select is(pgflow.ensure_deployment(pgflow_test.deployment('o1', 'o')) ->> 'activation', 'activated',
  'the first version of an alias is active at once, whoever deploys it');
select is(pgflow.ensure_deployment(pgflow_test.deployment('o2', 'o')) ->> 'activation', 'inactive', 'the second is not');
select results_eq($$ select activation, active_flow_slug, queues, reasons from pgflow.offer_activation('o2', (select id from o_worker)) $$,
  $$ values ('waiting'::text, 'o1'::text, '{o2}'::text[], array[
       'an operator must activate it (pgflowctl activate o o2): role "pgflow_test_host" is not a member of pgflow_operator']) $$,
  'the offer of a host that is no operator waits for one, though every queue is covered');
select is((select reasons[2] from pgflow.offer_activation('o2', null)) like 'an operator must activate it%', true,
  'gaps in the coverage are told besides');
reset session authorization;
select is((select active_flow_slug from pgflow.flow_aliases where alias = 'o'), 'o1', 'nothing was switched');

set session authorization pgflow_test_host;
select is(pg_temp.offer('o1', (select id from o_worker)), 'active', 'it hears that a version is active');
reset session authorization;
set session authorization pgflow_test_operating_host;
select is(pg_temp.offer('o2', (select id from o_worker)), 'activated', 'the offer of a host that logs in as an operator switches');
reset session authorization;

-- The owner of the schema, who is no superuser and no member of pgflow_operator
create role pgflow_test_owner login in role pgflow_worker;
select pgflow.ensure_deployment(pgflow_test.deployment('o3', 'o'));
insert into pgflow.worker_task_pairs select id, 'o3', 'a' from o_worker;
update pgflow.workers set queue_name = 'o3' where worker_id = (select id from o_worker);
set session authorization pgflow_test_owner;
select is(pg_temp.offer('o3', (select id from o_worker)), 'waiting', 'a login without the role waits');
reset session authorization;
alter schema pgflow owner to pgflow_test_owner;
set session authorization pgflow_test_owner;
select is(pg_temp.offer('o3', (select id from o_worker)), 'activated', 'that of the owner of the schema switches');
reset session authorization;

select * from finish();
rollback;
