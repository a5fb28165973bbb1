-- The old form of the claim.
begin;
select plan(26);
select pgflow_test.chain('Plain', '{a,b}');
insert into pgflow.workers (queue_name, worker_id, function_name) values ('Plain', pgflow_test.w(1), 'ts');
select pgflow.start_flow('Plain', '{"x": 1}', pgflow_test.w(n)) from generate_series(101, 103) n;

create temp table read as select * from pgmq.read_with_poll(queue_name => 'Plain', vt => 2, qty => 10, max_poll_seconds => 1, poll_interval_ms => 50);
create temp table started as
select * from pgflow.start_tasks(flow_slug => 'Plain', msg_ids => (select array_agg(msg_id) from read), worker_id => pgflow_test.w(1));
select is((select string_agg(a.attname, ',' order by a.attnum) from pg_attribute a where a.attrelid = 'pgflow.step_task_record'::regclass),
  'flow_slug,run_id,step_slug,input,msg_id,task_index,flow_input', 'the record''s columns');
select results_eq('select * from started order by msg_id',
  $$select 'Plain', pgflow_test.w(100 + n), 'a', '{}'::jsonb, n::bigint, 0, '{"x": 1}'::jsonb from generate_series(1, 3) n$$,
  'three arguments: the flow''s own queue; each row has its flow_input');
select results_eq('select distinct status, attempts_count, claim_no, claimed_exact, last_worker_id, recover_at - started_at from pgflow.step_tasks',
  $$values ('started', 1, 1, false, pgflow_test.w(1), '90 seconds'::interval)$$, 'started, but not claimed_exact');
select ok((select m.vt between t.started_at + interval '61 s' and t.started_at + interval '62 s'
           from pgflow.step_tasks t, pgflow_test.message('plain', t.message_id) m where t.message_id = 1), 'hidden for timeout and 2 s');
select is_empty($$select * from pgflow.start_tasks('Plain', '{1,2,3,99,null}', pgflow_test.w(1))$$, 'what is started, or nowhere, is not given again');

-- unfenced results act on it
select is((select status from pgflow.complete_task(pgflow_test.w(101), 'a', 0, '{"done": true}')), 'completed', 'complete_task completes it');
select is((select count(*) from pgflow.fail_task(pgflow_test.w(102), 'a', 0, 'no')), 1::bigint, 'fail_task fails it');
select results_eq($$select status, attempts_count from pgflow.step_tasks where run_id = pgflow_test.w(102)$$, $$values ('queued', 1)$$, 'with a retry');
create temp table second as select * from pgflow.start_tasks('Plain', (select array_agg(message_id) from pgflow.step_tasks where step_slug = 'b'), pgflow_test.w(1), 'plain');
select results_eq('select step_slug, input, flow_input from second', $$values ('b', '{"a": {"done": true}}'::jsonb, null::jsonb)$$,
  'four arguments: a dependent step gets its dependencies, no flow_input');

-- they change nothing on a task claimed by exact pair
select pgflow.register_worker(pgflow_test.w(2), 'plain', 'host', pgflow_test.pairs('Plain/a', 'Plain/b'));
select pgflow_test.show_all('plain');
select count(*) from pgflow.read_and_claim_tasks('plain', 10, 5, pgflow_test.w(2));
select lives_ok($$select pgflow.complete_task(pgflow_test.w(102), 'a', 0, '1')$$, 'complete_task of a task claimed exactly');
select is((select status from pgflow.step_tasks where run_id = pgflow_test.w(102) and step_slug = 'a'), 'started', 'changes nothing');

-- an ended task's message is archived
select pgflow.cancel_run(pgflow_test.w(103));
select pgmq.send('plain', '{}') as leftover \gset
update pgflow.step_tasks set message_id = :leftover where run_id = pgflow_test.w(103) and step_slug = 'a';
select is_empty(format($$select pgflow.start_tasks('Plain', '{%s}', pgflow_test.w(1))$$, :leftover), 'a task that ended is not given');
select ok((select :leftover in (select pgflow_test.archived('plain'))), 'its message is archived');

-- refusals
select is_empty($$select pgflow.start_tasks('nope', '{1}', pgflow_test.w(1))$$, 'an unknown flow has no tasks');
select is_empty($$select pgflow.start_tasks('nope', '{1}', pgflow_test.w(1), 'nowhere')$$, 'on no queue');
select pgflow.ensure_deployment(pgflow_test.deployment('routed', null, 'routed', '{a}', '{"a": "common"}'));
select throws_ok($$select pgflow.start_tasks('routed', '{1}', pgflow_test.w(1))$$, '42704', null, 'a flow without a queue of its own');
select throws_ok($$select pgflow.start_tasks('routed', '{1}', pgflow_test.w(1), 'common')$$, '55000', 'start_tasks: queue "common" is shared', 'a shared queue');
select throws_ok($$select pgflow.start_tasks('Plain', '{1}', pgflow_test.w(1), 'nowhere')$$, '42704', 'start_tasks: no queue "nowhere" is known to pgflow', 'an unknown queue');
select pgflow.start_flow('routed', '{}');
select is((select status from pgflow.step_tasks where flow_slug = 'routed'), 'queued', 'its neighbours'' tasks were left alone');

-- a private step queue; another flow's queue
select pgflow.ensure_deployment(pgflow_test.deployment('private', null, 'step', '{a}'));
select pgflow.start_flow('private', '{}', pgflow_test.w(110));
select is((select step_slug from pgflow.start_tasks('private', '{1}', pgflow_test.w(1), 'private__a', 'a')), 'a', 'a step queue by its name, and its step');
select throws_ok($$select pgflow.start_tasks('private', '{1}', pgflow_test.w(1), 'private__a')$$, '22023', 'start_tasks: queue "private__a" is private to one step of flow "private", and no step is named', 'a step queue without its step');
select throws_ok($$select pgflow.start_tasks('private', '{1}', pgflow_test.w(1), 'private__a', 'b')$$, '22023', 'start_tasks: step "b" of flow "private" is not routed to queue "private__a"', 'with another step');
select throws_ok($$select pgflow.start_tasks('Plain', '{1}', pgflow_test.w(1), 'plain', 'a')$$, '22023', 'start_tasks: queue "plain" is not private to a step, and step "a" is named', 'a step where the queue has all');
select is_empty($$select pgflow.start_tasks('private', (select array_agg(message_id) from pgflow.step_tasks where queue_name = 'plain'), pgflow_test.w(1), 'plain')$$,
  'another flow''s tasks are not given');
select pgflow.start_flow('Plain', '{}', pgflow_test.w(111));
select is_empty(format($$select pgflow.start_tasks('private', '{%s}', pgflow_test.w(1), 'plain')$$, (select message_id from pgflow.step_tasks where run_id = pgflow_test.w(111))),
  'also when they are queued');
select is((select status from pgflow.step_tasks where run_id = pgflow_test.w(111)), 'queued', 'and stay so');

select * from finish();
rollback;
