-- The guard: one unsupported message in a batch.
begin;
select plan(40);
select pgflow.ensure_deployment(pgflow_test.deployment('v1', null, 'routed', '{a,b}', '{"a": "q", "b": "q"}'));
select pgflow.ensure_deployment(pgflow_test.deployment('v2', null, 'routed', '{a,b}', '{"a": "q", "b": "q"}'));
select pgflow.register_worker(pgflow_test.w(1), 'q', 'fn', pgflow_test.pairs('v1/a', 'v1/b'), '{"pid": 7}');

-- A batch of ten: 4 supported, 2 unsupported, one each busy, stale, foreign, held.
select pgflow.start_flow('v1', '{}', pgflow_test.w(101)), pgflow.start_flow('v1', '{}', pgflow_test.w(102));
select pgflow.read_and_claim_tasks('q', 1, 5, pgflow_test.w(1));
select pgflow.start_flow('v2', '{}', pgflow_test.w(103));
select pgflow.start_flow('v1', '{}', pgflow_test.w(104)), pgflow.start_flow('v1', '{}', pgflow_test.w(105));
select pgmq.send('q', '{}') as foreign_id \gset
update pgflow.step_tasks set status = 'completed', started_at = clock_timestamp() + interval '1 s', completed_at = clock_timestamp() + interval '1 s'
where run_id = pgflow_test.w(104) and step_slug = 'a';
select pgflow_test.show_all('q');
create temp table before as select run_id, step_slug, status, attempts_count, claim_no from pgflow.step_tasks;
create temp table guarded as select * from pgflow.read_and_claim_tasks('q', 100, 5, pgflow_test.w(1), pgflow_test.pairs('v1/b'));

select is((select count(*) from guarded where outcome = 'started'), 0::bigint, 'nothing is started');
select results_eq($$select flow_slug, step_slug, run_id, reason from guarded where outcome = 'unsupported' order by 2$$,
  $$values ('v2', 'a', pgflow_test.w(103), null::text), ('v2', 'b', pgflow_test.w(103), null)$$, 'the unsupported rows name their pairs');
select results_eq($$select outcome, count(*) from guarded group by 1 order by 1$$,
  $$values ('busy', 1::bigint), ('foreign', 1), ('held', 6), ('stale', 1), ('unsupported', 2)$$, 'one row a message');
select results_eq($$select distinct reason from guarded where outcome = 'held'$$, $$values ('unsupported_batch')$$, 'the others say why they were not started');
select bag_eq('select run_id, step_slug, status, attempts_count, claim_no from pgflow.step_tasks', 'select * from before', 'no task changes');
select is_empty($$select pgflow_test.archived('q')$$, 'nothing is archived');
select is((select count(*) from guarded g, pgflow_test.message('q', g.msg_id) m
           where g.outcome in ('unsupported', 'held', 'stale') and m.vt <= clock_timestamp()), 9::bigint, 'what this read holds is visible at once');
select is((select m.vt from guarded g, pgflow_test.message('q', g.msg_id) m where g.outcome = 'busy'),
  (select recover_at from pgflow.step_tasks where status = 'started'), 'busy keeps its lease');
select ok((select m.vt > clock_timestamp() + interval '9 min' from pgflow_test.message('q', :foreign_id) m), 'foreign stays hidden');
select is((select min(m.read_ct) from guarded g, pgflow_test.message('q', g.msg_id) m), 1, 'the read is counted');

-- the pause
select results_eq($$select enabled, paused_at is not null from pgflow.worker_functions where function_name = 'fn'$$, $$values (false, true)$$, 'the function is paused');
select is((select pause_reason - 'messageIds' from pgflow.worker_functions where function_name = 'fn'),
  jsonb_build_object('queue', 'q', 'workerId', pgflow_test.w(1), 'info', '{"pid": 7}'::jsonb,
    'pairs', '[{"flowSlug": "v2", "stepSlug": "a"}, {"flowSlug": "v2", "stepSlug": "b"}]'::jsonb), 'with its reason');
select is((select pause_reason -> 'messageIds' from pgflow.worker_functions where function_name = 'fn'),
  (select jsonb_agg(msg_id order by msg_id) from guarded where outcome = 'unsupported'), 'and the unsupported message ids');

-- after the pause
select results_eq($$select outcome, reason from pgflow.read_and_claim_tasks('q', 10, 5, pgflow_test.w(1))$$, $$values ('fenced', 'must_stop')$$,
  'the worker that lacks the pair claims nothing more');
insert into pgflow.workers (worker_id, queue_name, function_name) values (pgflow_test.w(2), 'q', 'fn');
insert into pgflow.worker_task_pairs (worker_id, flow_slug, step_slug)
values (pgflow_test.w(2), 'v1', 'a'), (pgflow_test.w(2), 'v1', 'b'), (pgflow_test.w(2), 'v2', 'a'), (pgflow_test.w(2), 'v2', 'b');
select is((select count(*) from pgflow.read_and_claim_tasks('q', 100, 5, pgflow_test.w(2)) where outcome = 'started'), 8::bigint,
  'a running worker of the function that has the pairs goes on');
select is((select max(attempts_count) from pgflow.step_tasks), 1, 'no attempt was lost');

-- a function that is disabled already
select pgflow_test.chain('solo', '{a}', null);
select pgflow.register_worker(pgflow_test.w(3), 'solo', 'fn3', '{}');
select pgflow.start_flow('solo', '{}');
update pgflow.worker_functions set enabled = false, paused_at = '2020-01-01', pause_reason = '{"by": "an earlier guard"}' where function_name = 'fn3';
select is((select outcome from pgflow.read_and_claim_tasks('solo', 1, 5, pgflow_test.w(3))), 'unsupported', 'on a disabled function the guard resets and answers');
select is((select pause_reason from pgflow.worker_functions where function_name = 'fn3'), '{"by": "an earlier guard"}'::jsonb, 'and leaves its row alone');
select ok((select vt <= clock_timestamp() from pgmq.q_solo), 'the batch is visible');
delete from pgflow.worker_functions where function_name = 'fn3';
select is((select outcome from pgflow.read_and_claim_tasks('solo', 1, 5, pgflow_test.w(3))), 'unsupported', 'a function without a row');
select results_eq($$select enabled, paused_at is not null from pgflow.worker_functions where function_name = 'fn3'$$, $$values (false, true)$$, 'gets a paused one');

delete from pgflow.worker_functions where function_name = 'fn3';
insert into pgflow.worker_functions (function_name, updated_at) values ('fn3', '2100-01-01');
select pgflow.read_and_claim_tasks('solo', 1, 5, pgflow_test.w(3));
select results_eq($$select paused_at, updated_at from pgflow.worker_functions where function_name = 'fn3'$$,
  $$values ('2100-01-01'::timestamptz, '2100-01-01'::timestamptz)$$, 'a pause is never before the change that it follows');

-- a started task outside the pairs is busy, not unsupported
select pgflow.track_worker_function('fn4', 'process');
select pgflow.register_worker(pgflow_test.w(4), 'solo', 'fn4', pgflow_test.pairs('solo/a'));
select is((select outcome from pgflow.read_and_claim_tasks('solo', 1, 5, pgflow_test.w(4))), 'started', 'its own task starts');
delete from pgflow.worker_task_pairs where worker_id = pgflow_test.w(4);
select pgflow_test.show_all('solo');
select is((select outcome from pgflow.read_and_claim_tasks('solo', 1, 5, pgflow_test.w(4))), 'busy', 'a started task outside the pairs is busy');
select ok((select enabled from pgflow.worker_functions where function_name = 'fn4'), 'and trips nothing');

-- pairs are exact: the same step of another flow, the flow's other step
select pgflow.release_tasks(pgflow_test.w(4), array_agg(run_id), array_agg(step_slug), array_agg(task_index), array_agg(claim_no), '{f}')
from pgflow.step_tasks where flow_slug = 'solo' and status = 'started';
insert into pgflow.worker_task_pairs (worker_id, flow_slug, step_slug) values (pgflow_test.w(4), 'v1', 'a'), (pgflow_test.w(4), 'solo', 'b'), (pgflow_test.w(4), 'SOLO', 'a');
select is((select outcome from pgflow.read_and_claim_tasks('solo', 1, 5, pgflow_test.w(4))), 'unsupported', 'flow and step must both match');

-- claim_tasks: read_cts decide what this read still holds
select pgflow.enable_worker_function('fn4');
select pgflow.start_flow('solo', '{}'), pgflow.start_flow('solo', '{}');
create temp table mine as select * from pgmq.read('solo', 30, 10);
select is((select count(*) from mine), 3::bigint, 'three are read');
update pgmq.q_solo set vt = clock_timestamp() where msg_id = (select max(msg_id) from mine);
create temp table theirs as select * from pgmq.read('solo', 3600, 1);
create temp table after_reread as
select * from pgflow.claim_tasks('solo', (select array_agg(msg_id) from mine), pgflow_test.w(4), '{}', (select array_agg(read_ct) from mine));
select is((select count(*) from after_reread where outcome = 'unsupported'), 3::bigint, 'all three are unsupported');
select results_eq($$select m.vt <= clock_timestamp() from mine i, pgflow_test.message('solo', i.msg_id) m order by i.msg_id$$,
  $$values (true), (true), (false)$$, 'the lease of who re-read one is untouched');
select ok((select m.vt > clock_timestamp() + interval '59 min' from theirs t, pgflow_test.message('solo', t.msg_id) m), 'to the second');

-- without read_cts: what is queued
select pgflow.enable_worker_function('fn4');
create temp table unread as select msg_id from pgmq.read('solo', 30, 10);
select pgflow.claim_tasks('solo', (select array_agg(msg_id) from pgmq.q_solo), pgflow_test.w(4), '{}');
select is((select count(*) from pgmq.q_solo where vt <= clock_timestamp()), 3::bigint, 'without read_cts every queued task''s message is reset');
select ok(not (select enabled from pgflow.worker_functions where function_name = 'fn4'), 'and the function is paused');
select is((select count(*) from pgflow.step_tasks where flow_slug = 'solo' and attempts_count > 0), 0::bigint, 'no attempt is counted');

-- repair
select pgflow.enable_worker_function('fn4');
insert into pgflow.worker_task_pairs (worker_id, flow_slug, step_slug) values (pgflow_test.w(4), 'solo', 'a');
select results_eq($$select outcome, attempt from pgflow.read_and_claim_tasks('solo', 10, 5, pgflow_test.w(4))$$,
  $$values ('started', 1), ('started', 1), ('started', 1)$$, 'after the repair all run once');

-- the pause of one function stops no other
select ok((select enabled from pgflow.worker_functions where function_name = 'fn4'), 'enabled again');
select is((select pause_reason from pgflow.worker_functions where function_name = 'fn4'), null, 'without a reason');
select is((select count(*) from pgflow.worker_functions where not enabled), 2::bigint, 'the other two stay paused');

-- the worker's queue, not the flow, is what counts
select pgflow.register_worker(pgflow_test.w(6), 'v9_q', 'fn6', pgflow_test.pairs('v1/a'));
select results_eq($$select outcome, reason from pgflow.claim_tasks('q', '{1}', pgflow_test.w(6), pgflow_test.pairs('v1/a'))$$,
  $$values ('fenced', 'other_queue')$$, 'a worker of another queue is fenced');
select is((select count(*) from pgflow.step_tasks where last_worker_id = pgflow_test.w(6)), 0::bigint, 'and starts nothing');

-- supported pairs with nulls in them support nothing more
select pgflow.register_worker(pgflow_test.w(7), 'q', 'fn7', pgflow_test.pairs('v1/a'));
select pgflow.start_flow('v2', '{}', pgflow_test.w(110));
create temp table with_nulls as select * from pgflow.claim_tasks('q',
  (select array_agg(message_id) from pgflow.step_tasks where run_id = pgflow_test.w(110)), pgflow_test.w(7), array[row('v2', null)::pgflow.task_pair]);
select is((select count(*) from with_nulls where outcome = 'unsupported'), 2::bigint, 'a null matches nothing');

select * from finish();
rollback;
