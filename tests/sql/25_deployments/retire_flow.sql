-- retire_flow, unretire_flow and the drain verdict behind them.
begin;
select plan(17);

select pgflow.ensure_deployment(pgflow_test.deployment('v1', 'v', steps => '{a,b<a}'));
select throws_ok($$ select pgflow.retire_flow('v1') $$, '55000', 'flow "v1" is not drained: alias "v" points at it',
  'the active version of an alias is not retired');
select pgflow.ensure_deployment(pgflow_test.deployment('v2', 'v'));
create temporary table run as select pgflow_test.put_run('v1') as id;
select pgflow.activate_flow('v', 'v2', true);

select throws_ok($$ select pgflow.retire_flow('v1') $$, '55000', 'flow "v1" is not drained: 1 started run',
  'a started run without any task blocks');
select pgflow_test.put_task(id, 'a', 'started') from run;
select is(pgflow._drain_blockers('v1'), array['1 started run', '1 started task on queue "v1"'], 'tasks are named by queue and state');
update pgflow.runs set status = 'cancelled', failed_at = clock_timestamp();
select is(pgflow._drain_blockers('v1'), array['1 started task on queue "v1"'], 'a task left behind by an ended run blocks too');
update pgflow.step_tasks set status = 'queued', started_at = null, recover_at = null;
select is(pgflow._drain_blockers('v1'), array['1 queued task on queue "v1"'], 'queued or started');
update pgflow.step_tasks set status = 'cancelled';

select isnt((select retired_at from pgflow.retire_flow('v1')), null, 'a drained version is retired');
select is((select r.retired_at from pgflow.retire_flow('v1') r), (select f.retired_at from pgflow.flows f where f.flow_slug = 'v1'),
  'retiring it again changes nothing');
select throws_ok($$ select pgflow.start_flow('v1', '{}') $$, '55000', 'flow "v1" is retired and takes no new runs',
  'a late start on it is refused by name');
select is((select count(*) from pgflow.runs where flow_slug = 'v1'), 1::bigint, 'it keeps its history');
select is((select flow_slug from pgflow.start_flow('v', '{}')), 'v2', 'its alias goes on');

select is((select retired_at from pgflow.unretire_flow('v1')), null, 'unretire_flow undoes it');
select lives_ok($$ select pgflow.start_flow('v1', '{}') $$, 'then it takes runs again');
select lives_ok($$ select pgflow.unretire_flow('v1') $$, 'a flow in service stays so');

select pgflow.create_flow('plain');
select pgflow.add_step('plain', 'a');
select lives_ok($$ select pgflow.retire_flow('plain') $$, 'a plain flow is retired although it is its own alias');
select throws_ok($$ select pgflow.start_flow('plain', '{}') $$, '55000', null, 'and then takes no runs');
select throws_ok($$ select pgflow.retire_flow('nope') $$, '42704', 'flow "nope" does not exist', 'refuses an unknown flow');
select throws_ok($$ select pgflow.unretire_flow('v') $$, '42704',
  'flow "v" does not exist: it is an alias, and its active version is "v2"', 'an alias is no flow');

select * from finish();
rollback;
