-- delete_flow_and_data: everything of one flow, and nothing of its neighbours.
begin;
select plan(30);

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

-- Only what nothing needs
select pgflow.ensure_deployment(pgflow_test.deployment('n1', 'n', 'step'));
select pgflow.ensure_deployment(pgflow_test.deployment('n2', 'n', 'routed', '{a}', '{"a": "shared_1"}'));
select pgflow.create_flow('plain');
select pgflow.add_step('plain', 'a');
select is(pgflow.deletion_blockers('plain'), '{}', 'that a plain flow is active under its own name keeps nobody');
select lives_ok($$ select pgflow.delete_unused_flow('plain') $$, 'it is deleted');
select is_empty($$ select from pgflow.flows where flow_slug = 'plain' $$, 'wholly');
select throws_ok($$ select pgflow.delete_unused_flow('n1') $$, '55000', 'flow "n1" is in use: alias "n" points at it', 'refuses what an alias points at');
select pgflow.activate_flow('n', 'n2', true);
select pgflow_test.put_worker('N1__A', 'polls');
select pgflow_test.put_worker('shared_1', 'serves', '{n1/a}');
select pgflow_test.put_worker('shared_1', 'stands_by', '{}', '[{"flow": "n1"}]');
update pgflow.workers set standby = true where function_name = 'stands_by';
select pgflow_test.put_worker('shared_1', 'neighbour', '{n2/a}');
select is(pgflow.deletion_blockers('n1'), array(
  select format('worker %s of function "%s" on queue "%s" %s', w.worker_id, w.function_name, w.queue_name, k.how)
  from (values ('polls', 'polls a queue of it'), ('serves', 'carries it'), ('stands_by', 'carries it')) as k (function_name, how)
  join pgflow.workers w using (function_name) order by w.function_name), 'names live workers that would lose it, and no others');
select throws_ok($$ select pgflow.delete_unused_flow('n1') $$, '55000', null, 'refuses while one is live');
select pgflow.mark_worker_stopped(worker_id) from pgflow.workers where function_name = 'serves';
update pgflow.workers set last_heartbeat_at = clock_timestamp() - interval '1 minute' where function_name in ('polls', 'stands_by');
select pgflow_test.put_run('n1');
select throws_ok($$ select pgflow.delete_unused_flow('n1') $$, '55000', 'flow "n1" is in use: 1 started run', 'refuses while a run has not ended');
update pgflow.runs set status = 'failed', failed_at = clock_timestamp() where flow_slug = 'n1';
select lives_ok($$ select pgflow.delete_unused_flow('n1') $$, 'stopped and silent workers keep nobody, nor do ended runs');
select throws_ok($$ select pgflow.delete_unused_flow('n1') $$, '42704', 'flow "n1" does not exist', 'refuses an unknown flow');
select throws_ok($$ select pgflow.deletion_blockers('n') $$, '42704', 'flow "n" does not exist: it is an alias, and its active version is "n2"',
  'an alias is no flow');

set constraints all immediate;
select * from finish();
rollback;
