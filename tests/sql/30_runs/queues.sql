-- Queues: every task carries its own, and every send, archive and delay goes by it.
begin;
select plan(18);

select pgflow.create_flow('fan', max_attempts => 2);
select pgflow.add_step('fan', 'start', queue_name => 'q_a');
select pgflow.add_step('fan', 'cpu', '{start}', queue_name => 'q_b');
select pgflow.add_step('fan', 'net', '{start}', queue_name => 'q_c', start_delay => 100);
select pgflow.add_step('fan', 'each', '{start}', step_type => 'map', queue_name => 'q_b');
select pgflow.add_step('fan', 'join', '{cpu,net,each}', queue_name => 'q_a');

-- sending
select pgflow.start_flow('fan', '1', pgflow_test.w(11));
select pgflow_test.claim('q_a');
select is((select new_work from pgflow.finish_tasks(pgflow_test.w(1), array[pgflow_test.w(11)], '{start}', '{0}', '{1}', '{completed}', '{"[7, 8]"}', null)), false,
  'new work on other queues is not this worker''s');
select results_eq('select queue_name, step_slug, task_index from pgflow.step_tasks where status = $$queued$$ order by 1, 2, 3',
  $$values ('q_b', 'cpu', 0), ('q_b', 'each', 0), ('q_b', 'each', 1), ('q_c', 'net', 0)$$, 'tasks carry the queue of their step');
select results_eq('select m.queue_name, count(*) from pgflow_test.live_messages() m group by 1 order by 1', $$values ('q_b', 3::bigint), ('q_c', 1)$$, 'their messages are there');
select results_eq($$select t.step_slug, t.task_index, m.message ->> 'step_slug', (m.message ->> 'task_index')::int
    from pgflow.step_tasks t cross join pgflow_test.message(t.queue_name, t.message_id) m order by 1, 2$$,
  $$values ('cpu', 0, 'cpu', 0), ('each', 0, 'each', 0), ('each', 1, 'each', 1), ('net', 0, 'net', 0)$$, 'each message is that of its task');
select ok(vt > clock_timestamp() + interval '90 s', 'a start delay hides its own message') from pgflow.step_tasks t
cross join pgflow_test.message(t.queue_name, t.message_id) where t.step_slug = 'net';
select ok(vt <= clock_timestamp(), 'and no other') from pgflow.step_tasks t cross join pgflow_test.message(t.queue_name, t.message_id) where t.step_slug = 'cpu';

-- equal message ids on two queues are two messages
select is((select array_agg(distinct message_id) from pgflow.step_tasks where step_slug in ('start', 'cpu', 'net')), '{1}', 'each queue counts for itself');
select is((select count(*) from pgflow_test.archived('q_a')), 1::bigint, 'the message of the finished task is archived');
select is((select count(*) from pgflow_test.archived('q_b')), 0::bigint, 'its namesake on another queue is not');

-- retries by queue
select pgflow_test.claim('q_b', 2);
select pgflow_test.show_all('q_c');
select pgflow_test.claim('q_c', 2);
select results_eq($$select f.outcome from pgflow.finish_tasks(pgflow_test.w(2), array_fill(pgflow_test.w(11), '{2}'), '{cpu,net}', '{0,0}', '{1,1}',
  '{failed,failed}', null, '{x,y}', '{50,80}') f order by item$$, $$values ('retrying'), ('retrying')$$, 'tasks of two queues are tried again');
select results_eq($$select t.step_slug, round(extract(epoch from m.vt - clock_timestamp()) / 10) from pgflow.step_tasks t
    cross join pgflow_test.message(t.queue_name, t.message_id) m where t.step_slug in ('cpu', 'net') order by 1$$,
  $$values ('cpu', 5::numeric), ('net', 8)$$, 'each message is hidden as long as its own task wants');

-- a failure clears every queue of its run and leaves those of others
select pgflow.start_flow('fan', '1', pgflow_test.w(12));
select is(pgflow_test.report('each', 'permanent', 'bad', 0, pgflow_test.w(11)), 'failed', 'a task fails the run');
select results_eq('select status, count(*) from pgflow.step_tasks where run_id = pgflow_test.w(11) group by 1 order by 1',
  $$values ('cancelled', 3::bigint), ('completed', 1), ('failed', 1)$$, 'its other tasks are cancelled');
select results_eq('select m.queue_name, t.run_id from pgflow_test.live_messages() m join pgflow.step_tasks t using (queue_name, message_id)',
  $$values ('q_a', pgflow_test.w(12))$$, 'only the message of the other run is left, on any queue');
select is((select count(*) from pgflow_test.archived('q_b')) + (select count(*) from pgflow_test.archived('q_c')), 4::bigint, 'the others are archived where they were');
select is_empty('select * from pgflow_test.violations()', 'nothing is broken');

-- the snapshot: a task keeps its queue
update pgflow.steps set queue_name = 'q_c' where flow_slug = 'fan' and step_slug = 'start';
select is(pgflow_test.work('q_a', '[]'), 1, 'a task is worked off on the queue it was sent to');
select is((select queue_name from pgflow.step_tasks where run_id = pgflow_test.w(12) and step_slug = 'start'), 'q_a', 'which it keeps');

select * from finish();
rollback;
