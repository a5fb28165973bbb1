-- delete_flow_and_data: everything of one flow, and nothing of its neighbours.
begin;
select plan(20);

-- Three queues: one of its own for each mode, and one that it shares.
select pgflow.create_flow('gone');
select pgflow.add_step('gone', 'a');
select pgflow.add_step('gone', 'b', array['a'], queue_name => 'shared_1');
select pgflow.add_step('gone', 'c', array['a'], queue_name => 'shared_2');
select pgflow.ensure_deployment(pgflow_test.deployment('stays', null, 'routed', '{b}', '{"b": "shared_1"}'));
create temporary table run as
  select pgflow_test.put_run('gone') as gone, pgflow_test.put_run('gone') as ended, pgflow_test.put_run('stays') as stays;
create temporary table message as
  select pgflow_test.put_task(gone, 'a') as a, pgflow_test.put_task(gone, 'b') as b,
         pgflow_test.put_task(gone, 'c', 'started') as c, pgflow_test.put_task(stays, 'b') as neighbour,
         pgflow_test.put_task(ended, 'b') as old
  from run;
select pgmq.archive('shared_1', old) from message;
update pgflow.step_tasks set status = 'completed', completed_at = queued_at, started_at = queued_at
where run_id = (select ended from run);
select pgmq.send('shared_1', '{"foreign": true}');

select lives_ok($$ select pgflow.delete_flow_and_data('gone') $$, 'deletes a flow that spans three queues');

select is_empty($$ select from pgflow.flows where flow_slug = 'gone' $$, 'the flow is gone');
select is_empty($$ select from pgflow.steps where flow_slug = 'gone' $$, 'its steps');
select is_empty($$ select from pgflow.deps where flow_slug = 'gone' $$, 'its dependencies');
select is_empty($$ select from pgflow.runs where flow_slug = 'gone' $$, 'its runs');
select is_empty($$ select from pgflow.step_states where flow_slug = 'gone' $$, 'their states');
select is_empty($$ select from pgflow.step_tasks where flow_slug = 'gone' $$, 'their tasks');
select results_eq($$ select queue_name::text from pgmq.list_queues() order by 1 $$, array['shared_1', 'shared_2'],
  'its own queue is dropped, shared ones never');
select results_eq($$ select queue_name from pgflow.queues order by 1 $$, array['shared_1', 'shared_2'], 'here too');
select results_eq($$ select msg_id from pgmq.q_shared_1 where message ? 'step_slug' $$, $$ select neighbour from message $$,
  'the neighbour''s message stays');
select is((select count(*) from pgmq.q_shared_1 where message ? 'foreign'), 1::bigint, 'so does a message of nobody');
select is(pgflow_test.queue_length('shared_2'), 0::bigint, 'its started task left no message');
select is((select status from pgflow.step_tasks), 'queued', 'the neighbour''s task is untouched');
select is_empty($$ select from pgflow.flow_aliases where alias = 'gone' $$, 'a plain flow takes its alias along');
select results_eq($$ select from_flow_slug, to_flow_slug from pgflow.alias_switches where alias = 'gone' order by switch_id $$,
  $$ values (null::text, 'gone'::text), ('gone', null) $$, 'the record of switches stays');

-- Aliases
select pgflow.ensure_deployment(pgflow_test.deployment('v1', 'v', 'step'));
select pgflow.ensure_deployment(pgflow_test.deployment('v2', 'v', 'step'));
select pgflow.activate_flow('v', 'v2', true);
select pgflow.delete_flow_and_data('v2');
select is((select active_flow_slug from pgflow.flow_aliases where alias = 'v'), 'v1', 'the alias goes back to the previous version');
select pgflow.ensure_deployment(pgflow_test.deployment('v3', 'v', 'step'));
select pgflow.activate_flow('v', 'v3', true);
select pgflow.retire_flow('v1');
select pgflow.delete_flow_and_data('v3');
select is_empty($$ select from pgflow.flow_aliases where alias = 'v' $$, 'unless that is retired: then it goes');
select pgflow.unretire_flow('v1');
select is(pgflow.ensure_deployment(pgflow_test.deployment('v1', 'v', 'step')) ->> 'activation', 'activated',
  'its next deployment brings it back');
select pgmq.drop_queue('v1__a');
select lives_ok($$ select pgflow.delete_flow_and_data('v1') $$, 'a flow whose queue is gone already is deleted too');

select throws_ok($$ select pgflow.delete_flow_and_data('nope') $$, '42704', 'flow "nope" does not exist', 'refuses an unknown flow');

set constraints all immediate;
select * from finish();
rollback;
