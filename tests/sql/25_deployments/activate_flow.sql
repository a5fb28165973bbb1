-- activate_flow: the operator's path of a switch, and the one check behind both paths.
begin;
select plan(24);

select pgflow.ensure_deployment(pgflow_test.deployment('v1', 'v', 'routed', '{a,b<a}', '{"a": "qa", "b": "qb"}'));
select pgflow.ensure_deployment(pgflow_test.deployment('v2', 'v', 'routed', '{a,b<a}', '{"a": "qa", "b": "qb"}'));
select pgflow.create_flow('other');

-- Refusals
select throws_ok($$ select pgflow.activate_flow('v', 'nope') $$, '42704', 'flow "nope" does not exist', 'refuses an unknown flow');
select throws_ok($$ select pgflow.activate_flow('v', 'other') $$, '22023',
  'flow "other" is a version of alias "other", not of "v"', 'refuses a version of another alias');
select throws_ok($$ select pgflow.activate_flow('nope', 'v2') $$, '22023',
  'flow "v2" is a version of alias "v", not of "nope"', 'refuses an unknown alias');
select throws_ok($$ select pgflow.activate_flow(null, 'v2') $$, '22023', null, 'refuses null');

-- Coverage
select results_eq($$ select * from pgflow._switch_gaps('v2') $$,
  $$ values ('qa'::text, 'queue "qa" has no live worker'::text), ('qb', 'queue "qb" has no live worker') $$,
  'a queue without worker is named');
create temporary table host as
  select pgflow_test.put_worker('QA', 'f_a', '{v1/a,v2/a}') as on_a, pgflow_test.put_worker('qb', 'f_b', '{v1/b}') as on_b;
select results_eq($$ select * from pgflow._switch_gaps('v2') $$,
  $$ select 'qb'::text, format('queue "qb": worker %s of function "f_b" does not run step "b"', on_b) from host $$,
  'a worker without one of the pairs is named; queue names are compared ignoring case');
select throws_ok($$ select pgflow.activate_flow('v', 'v2') $$, '55000', null, 'then the switch is refused');
select is((select active_flow_slug from pgflow.flow_aliases where alias = 'v'), 'v1', 'and the alias stays');

insert into pgflow.worker_task_pairs (worker_id, flow_slug, step_slug) select on_b, 'v2', 'b' from host;
select is_empty($$ select from pgflow._switch_gaps('v2') $$, 'all covered: nothing is in the way');
update pgflow.worker_task_pairs set held = true where flow_slug = 'v2' and step_slug = 'b';
select isnt_empty($$ select from pgflow._switch_gaps('v2') $$, 'a held pair is a missing one');
update pgflow.worker_task_pairs set held = false;

update pgflow.workers set standby = true where worker_id = (select on_b from host);
select results_eq($$ select reason from pgflow._switch_gaps('v2') $$, array['queue "qb" has no live worker'],
  'a worker standing by does not work');
update pgflow.workers set standby = false, deprecated_at = clock_timestamp() where worker_id = (select on_b from host);
select results_eq($$ select reason from pgflow._switch_gaps('v2') $$, array['queue "qb" has no live worker'],
  'a deprecated worker is not live');
update pgflow.workers set deprecated_at = null, last_heartbeat_at = clock_timestamp() - interval '16 seconds'
where worker_id = (select on_b from host);
select results_eq($$ select reason from pgflow._switch_gaps('v2') $$, array['queue "qb" has no live worker'],
  'a silent worker is not live');
update pgflow.workers set last_heartbeat_at = clock_timestamp();
select pgflow.disable_worker_functions('{f_b}');
select results_eq($$ select reason from pgflow._switch_gaps('v2') $$, array['queue "qb" has no live worker'],
  'a worker that must stop claims nothing');
update pgflow.worker_functions set enabled = true;

create temporary table typescript as select pgflow_test.put_worker('qb', 'ts') as id;
select results_eq($$ select reason from pgflow._switch_gaps('v2') $$,
  $$ select format('queue "qb": worker %s of function "ts" registered no pairs, so nothing shows that it runs step "b"', id) from typescript $$,
  'a worker that registered no pairs covers nothing');
update pgflow.workers set stopped_at = clock_timestamp() where function_name = 'ts';

-- Switches
select results_eq(
  $$ select alias, active_flow_slug, previous_flow_slug from pgflow.activate_flow('v', 'v2') $$,
  $$ values ('v'::text, 'v2'::text, 'v1'::text) $$, 'a covered version is activated');
select is(
  (select flow_slug from pgflow.start_flow('v', '{}')), 'v2', 'new starts go to it');
select results_eq(
  $$ select from_flow_slug, to_flow_slug, by = session_user, worker_id, forced from pgflow.alias_switches
     where alias = 'v' order by switch_id desc limit 1 $$,
  $$ values ('v1'::text, 'v2'::text, true, null::uuid, false) $$, 'the switch is recorded');
select is((select previous_flow_slug from pgflow.activate_flow('v', 'v2')), 'v1', 'the active version again changes nothing');
select is((select count(*) from pgflow.alias_switches where alias = 'v'), 2::bigint, 'and records nothing');
select is((select active_flow_slug from pgflow.activate_flow('v', 'v1')), 'v1', 'back is the same call');

update pgflow.workers set stopped_at = clock_timestamp();
select is((select active_flow_slug from pgflow.activate_flow('v', 'v2', force => true)), 'v2',
  'by force a version is activated before its workers are up');
select is((select forced from pgflow.alias_switches order by switch_id desc limit 1), true, 'which is recorded as forced');
select pgflow.retire_flow('v1');
select throws_ok($$ select pgflow.activate_flow('v', 'v1', true) $$, '55000',
  (select format('flow "v1" is retired since %s', retired_at) from pgflow.flows where flow_slug = 'v1'),
  'a retired version is not activated, not even by force');

select * from finish();
rollback;
