-- Every outcome of a claim but the guard's, and what it does to task and message.
begin;
select plan(47);
select pgflow_test.chain('f', '{a,b}');
select pgflow.register_worker(pgflow_test.w(1), 'f', 'fn', pgflow_test.pairs('f/a'));

-- started
select pgflow.start_flow('f', '{"x": 1}', pgflow_test.w(101));
update pgmq.q_f set vt = clock_timestamp() - interval '1 hour';
create temp table claim as select * from pgflow.read_and_claim_tasks('F', 10, 5, pgflow_test.w(1));
select results_eq(
  $$select outcome, queue_name, msg_id, flow_slug, run_id, step_slug, task_index, attempt, max_attempts, claim_no, timeout from claim$$,
  $$values ('started', 'f', 1::bigint, 'f', pgflow_test.w(101), 'a', 0, 1, 3, 1, 60)$$, 'a queued task is started');
select results_eq($$select input, flow_input, input_error, body_mismatch, reason from claim$$,
  $$values ('{}'::jsonb, '{"x": 1}'::jsonb, null::text, false, null::text)$$, 'with its input');
select ok((select due_in_ms between -3660000 and -3600000 from claim), 'and says for how long its message was visible');
select results_eq(
  $$select status, attempts_count, claim_no, claimed_exact, last_worker_id, recover_at - started_at from pgflow.step_tasks$$,
  $$values ('started', 1, 1, true, pgflow_test.w(1), '90 seconds'::interval)$$,
  'attempt and claim are counted, the worker recorded, recovery due after timeout and 30 s');
select ok((select m.vt between t.started_at + interval '61 s' and t.started_at + interval '62 s'
           from pgflow.step_tasks t, pgflow_test.message('f', 1) m), 'the message is hidden for timeout and 2 s');
select is((select read_ct from pgflow_test.message('f', 1)), 1, 'the claim counts as a read');

-- options of the step win over the flow's, and change for later claims only
update pgflow.steps set opt_timeout = 7, opt_max_attempts = 9 where step_slug = 'a';
select is((select recover_at - started_at from pgflow.step_tasks), '90 seconds'::interval, 'changed options do not move a deadline');
select pgflow.start_flow('f', '{}', pgflow_test.w(102));
select results_eq(
  $$select timeout, max_attempts from pgflow.read_and_claim_tasks('f', 10, 5, pgflow_test.w(1))$$, 'values (7, 9)', 'a later claim takes them');

-- a clock that stepped back
select pgflow.start_flow('f', '{}', pgflow_test.w(103));
update pgflow.step_tasks set queued_at = '2100-01-01' where run_id = pgflow_test.w(103);
select is((select outcome from pgflow.read_and_claim_tasks('f', 10, 5, pgflow_test.w(1))), 'started', 'a clock that stepped back stops no work');
select is((select started_at from pgflow.step_tasks where run_id = pgflow_test.w(103)), '2100-01-01'::timestamptz, 'a start is never before its queueing');

-- busy: another attempt holds it
select pgflow_test.show_all('f');
create temp table busy as select * from pgflow.read_and_claim_tasks('f', 10, 5, pgflow_test.w(1)) where run_id = pgflow_test.w(101);
select results_eq('select outcome, reason, attempt, claim_no, input from busy',
  $$values ('busy', 'running', null::int, null::int, null::jsonb)$$, 'a started task is busy');
select is((select vt from pgflow_test.message('f', 1)), (select recover_at from pgflow.step_tasks where message_id = 1),
  'its message is hidden until the recovery deadline');
select ok((select due_in_ms between 80000 and 90000 from busy), 'the answer says how far that is');
select results_eq('select attempts_count, claim_no from pgflow.step_tasks where message_id = 1', 'values (1, 1)', 'nothing is counted');
select pgflow_test.let_deadlines_pass(), pgflow_test.show_all('f');
create temp table overdue as select * from pgflow.read_and_claim_tasks('f', 1, 5, pgflow_test.w(1));
select results_eq('select outcome, due_in_ms < 0 from overdue', $$values ('busy', true)$$, 'past its deadline it is busy still, and says so');
select ok((select m.vt between now() + interval '5 s' and clock_timestamp() + interval '5 s'
           from overdue o, pgflow_test.message('f', o.msg_id) m), 'hidden for 5 s, for recovery to come first');

-- stale
select pgflow.cancel_run(pgflow_test.w(101)), pgflow.cancel_run(pgflow_test.w(102)), pgflow.cancel_run(pgflow_test.w(103));
select pgflow.start_flow('f', '{}', pgflow_test.w(104));
update pgflow.step_tasks set status = 'completed', started_at = clock_timestamp() + interval '1 s', completed_at = clock_timestamp() + interval '1 s' where message_id = 4;
select is((select outcome from pgflow.read_and_claim_tasks('f', 10, 5, pgflow_test.w(1))), 'stale', 'a task that ended is stale');
select ok((select 4 in (select pgflow_test.archived('f'))), 'its message is archived');
select is_empty($$select from pgflow_test.message('f', 4)$$, 'and off the queue');
update pgflow.step_tasks set status = 'queued', message_id = (select pgmq.send('f', '{}')), started_at = null, completed_at = null where message_id = 4;
update pgflow.step_states set status = 'skipped', skip_reason = 'condition_unmet', skipped_at = clock_timestamp() + interval '1 s' where run_id = pgflow_test.w(104) and step_slug = 'a';
select is((select outcome from pgflow.read_and_claim_tasks('f', 10, 5, pgflow_test.w(1))), 'stale', 'a step that ended makes its task stale');
select pgflow.start_flow('f', '{}', pgflow_test.w(105));
update pgflow.runs set status = 'failed', failed_at = clock_timestamp() where run_id = pgflow_test.w(105);
select is((select outcome from pgflow.read_and_claim_tasks('f', 10, 5, pgflow_test.w(1))), 'stale', 'so does a run that ended');

-- foreign
select pgmq.send('f', jsonb_build_object('flow_slug', 'f', 'run_id', pgflow_test.w(104), 'step_slug', 'a', 'task_index', 0)) as foreign_id \gset
create temp table strangers as select * from pgflow.read_and_claim_tasks('f', 10, 5, pgflow_test.w(1));
select results_eq('select outcome, msg_id, flow_slug, run_id, body_mismatch from strangers',
  format($$values ('foreign', %s::bigint, null::text, null::uuid, false)$$, :foreign_id),
  'a message that no task owns is foreign, whatever its body says');
select ok((select m.vt between now() + interval '10 min' and clock_timestamp() + interval '10 min' from pgflow_test.message('f', :foreign_id) m),
  'it stays in the queue, hidden for ten minutes');
update pgmq.q_f set vt = clock_timestamp(), read_ct = 4 where msg_id = :foreign_id;
select is((select outcome from pgflow.read_and_claim_tasks('f', 10, 5, pgflow_test.w(1))), 'foreign', 'it comes again');
select ok((select m.vt between now() + interval '50 min' and clock_timestamp() + interval '50 min' from pgflow_test.message('f', :foreign_id) m),
  'ten minutes longer with each read');
update pgmq.q_f set vt = clock_timestamp(), read_ct = 2000000000 where msg_id = :foreign_id;
select is((select outcome from pgflow.read_and_claim_tasks('f', 10, 5, pgflow_test.w(1))), 'foreign', 'however often');
select ok((select m.vt between now() + interval '24 hours' and clock_timestamp() + interval '24 hours' from pgflow_test.message('f', :foreign_id) m),
  'at most a day');
select ok((select enabled from pgflow.worker_functions where function_name = 'fn'), 'it never trips the guard');

-- held
select pgflow.start_flow('f', '{}', pgflow_test.w(106));
create temp table held as select * from pgflow.read_and_claim_tasks('f', 10, 5, pgflow_test.w(1), pgflow_test.pairs('f/a'));
select results_eq('select outcome, step_slug, claim_no from held', $$values ('held', 'a', null::int)$$, 'a supported pair that the host holds is held');
select results_eq($$select status, attempts_count, claim_no from pgflow.step_tasks where run_id = pgflow_test.w(106)$$,
  $$values ('queued', 0, 0)$$, 'nothing is counted');
select ok((select m.vt between now() + interval '10 s' and clock_timestamp() + interval '10 s' from held h, pgflow_test.message('f', h.msg_id) m),
  'hidden for 10 s');
select ok((select enabled from pgflow.worker_functions where function_name = 'fn'), 'it does not trip the guard');

-- bodies
select pgflow_test.show_all('f');
update pgmq.q_f set message = '[1, "malformed"]';
create temp table mismatch as select * from pgflow.read_and_claim_tasks('f', 10, 5, pgflow_test.w(1));
select results_eq('select outcome, body_mismatch from mismatch order by 1', $$values ('foreign', false), ('started', true)$$,
  'a malformed body is reported and changes nothing: the durable pair decides');
select pgflow.start_flow('f', '{}', pgflow_test.w(107));
update pgmq.q_f m set message = message || '{"step_slug": "b"}' where m.message ->> 'run_id' = pgflow_test.w(107)::text;
select results_eq($$select outcome, step_slug, body_mismatch from pgflow.read_and_claim_tasks('f', 10, 5, pgflow_test.w(1))$$,
  $$values ('started', 'a', true)$$, 'a body that names other work too');
select pgflow.start_flow('f', '{}', pgflow_test.w(108));
update pgmq.q_f m set message = message || '{"extra": 1}' where m.message ->> 'run_id' = pgflow_test.w(108)::text;
select is((select body_mismatch from pgflow.read_and_claim_tasks('f', 10, 5, pgflow_test.w(1))), false, 'more than the key is no mismatch');

-- several flows, one queue; width; order
select pgflow.ensure_deployment(pgflow_test.deployment('v1', null, 'routed', '{a}', '{"a": "shared_q"}'));
select pgflow.ensure_deployment(pgflow_test.deployment('v2', null, 'routed', '{a,b}', '{"a": "shared_q", "b": "shared_q"}'));
select pgflow.register_worker(pgflow_test.w(2), 'shared_q', 'fn2', pgflow_test.pairs('v1/a', 'v2/a', 'v2/b'));
select pgflow.start_flow('v1', '{}', pgflow_test.w(201)), pgflow.start_flow('v2', '{}', pgflow_test.w(202)), pgflow.start_flow('v1', '{}', pgflow_test.w(203));
select results_eq($$select outcome, msg_id, flow_slug, step_slug from pgflow.read_and_claim_tasks('shared_q', 3, 5, pgflow_test.w(2))$$,
  $$values ('started', 1::bigint, 'v1', 'a'), ('started', 2, 'v2', 'a'), ('started', 3, 'v2', 'b')$$,
  'one claim gives tasks of several flows, the longest visible first, no more than asked for');
select results_eq($$select msg_id from pgflow.read_and_claim_tasks('shared_q', 3, 5, pgflow_test.w(2))$$, 'values (4::bigint)', 'the next one the rest');

-- the same id on two queues
select is((select flow_slug from pgflow.step_tasks where queue_name = 'shared_q' and message_id = 1), 'v1', 'an id alone identifies nothing');

-- claim_tasks
select pgflow.start_flow('v1', '{}', pgflow_test.w(204));
create temp table read as select * from pgmq.read('shared_q', 30, 10);
create temp table given as
select * from pgflow.claim_tasks('Shared_Q', (select array_agg(msg_id) from read), pgflow_test.w(2), pgflow_test.pairs('v1/a'), (select array_agg(read_ct) from read));
select results_eq('select outcome, queue_name, run_id, attempt, claim_no from given',
  $$values ('started', 'shared_q', pgflow_test.w(204), 1, 1)$$, 'claim_tasks starts what was read');
select is((select read_ct from given g, pgflow_test.message('shared_q', g.msg_id)), 1, 'without another read');
select is((select recover_at - started_at from pgflow.step_tasks where run_id = pgflow_test.w(204)), '90 seconds'::interval, 'the deadline is the claim''s');
select results_eq($$select outcome, due_in_ms > 0 from pgflow.claim_tasks('shared_q', '{}', pgflow_test.w(2), '{}')$$,
  $$values ('empty', true)$$, 'no ids: empty');
select throws_ok($$select pgflow.claim_tasks('shared_q', '{1,2}', pgflow_test.w(2), '{}', '{1}')$$, '22023',
  'claim_tasks: 2 message_ids and 1 read_cts', 'read_cts of another length are refused');
select is((select count(*) from pgflow.claim_tasks('shared_q', '{1,1,null}', pgflow_test.w(2), pgflow_test.pairs('v1/a'))), 1::bigint,
  'one row a distinct message');
select is((select outcome from pgflow.claim_tasks('shared_q', '{4711}', pgflow_test.w(2), '{}')), 'foreign', 'an id that is nowhere is foreign');

-- a message that is gone
select pgflow.start_flow('v1', '{}', pgflow_test.w(205)), pgflow.start_flow('v1', '{}', pgflow_test.w(206));
create temp table two as select msg_id from pgmq.read('shared_q', 30, 10);
select pgmq.delete('shared_q', (select min(msg_id) from two));
select throws_ok(format($$select pgflow.claim_tasks('shared_q', %L, pgflow_test.w(2), pgflow_test.pairs('v1/a'))$$, (select array_agg(msg_id) from two)),
  '40001', null, 'a claim that could not set every visibility raises');
select is((select count(*) from pgflow.step_tasks where run_id in (pgflow_test.w(205), pgflow_test.w(206)) and status = 'queued'), 2::bigint,
  'and starts nothing');

select * from finish();
rollback;
