-- requeue_stalled_tasks and maintain.
begin;
select plan(37);
select pgflow_test.chain('f', '{a,b}');
select pgflow.register_worker(pgflow_test.w(1), 'f', 'fn', pgflow_test.pairs('f/a', 'f/b'));
create function pg_temp.claim() returns setof pgflow.claim_row language sql as
  $$ select * from pgflow.read_and_claim_tasks('f', 100, 5, pgflow_test.w(1)) $$;

select pgflow.start_flow('f', '{}', pgflow_test.w(101));
select count(*) from pg_temp.claim();
select is(pgflow.requeue_stalled_tasks(), 0, 'a task before its deadline is left alone');
select pgflow_test.let_deadlines_pass();
select is(pgflow.requeue_stalled_tasks(), 1, 'one past it is requeued');
select results_eq('select status, attempts_count, claim_no, requeued_count, last_requeued_at is not null, started_at, recover_at from pgflow.step_tasks',
  $$values ('queued', 1, 2, 1, true, null::timestamptz, null::timestamptz)$$, 'the attempt stays counted, the claim number moves on');
select ok((select vt <= clock_timestamp() from pgmq.q_f), 'its message is visible');
select results_eq($$select outcome from pgflow.finish_tasks(pgflow_test.w(1), array[pgflow_test.w(101)], '{a}', '{0}', '{1}', '{completed}', '{1}', '{null}')$$,
  $$values ('late')$$, 'the lost attempt''s result is late');
select results_eq('select outcome, attempt, claim_no from pg_temp.claim()', $$values ('started', 2, 3)$$, 'it is claimed again');

-- options changed since the claim
update pgflow.steps set opt_timeout = 1;
select is(pgflow.requeue_stalled_tasks(), 0, 'the deadline is the one given at the claim, whatever the options say now');

-- the third requeue is the last
select pgflow_test.let_deadlines_pass();
select is(pgflow.requeue_stalled_tasks(), 1, 'second requeue');
select count(*) from pg_temp.claim();
select pgflow_test.let_deadlines_pass();
select is(pgflow.requeue_stalled_tasks(), 1, 'third requeue, past the retry budget of three attempts');
select is((select attempt from pg_temp.claim()), 4, 'requeues do not ask the budget');
select pgflow_test.let_deadlines_pass();
select is(pgflow.requeue_stalled_tasks(), 0, 'then no more');
select results_eq('select status, permanently_stalled_at is not null, error_message from pgflow.step_tasks',
  $$values ('failed', true, '[STALLED] no worker finished the task, and it was requeued 3 times')$$, 'the task fails for good');
select results_eq($$select r.status, ss.status from pgflow.runs r join pgflow.step_states ss using (run_id) where ss.step_slug = 'a'$$,
  $$values ('failed', 'failed')$$, 'through the normal path: the run fails');
select is_empty('select from pgmq.q_f', 'no message is left');

-- when_exhausted decides
select pgflow.create_flow('g'), pgflow.add_step('g', 'a', when_exhausted => 'skip'), pgflow.add_step('g', 'b', '{a}');
select pgflow.register_worker(pgflow_test.w(2), 'g', 'gn', pgflow_test.pairs('g/a', 'g/b'));
select pgflow.start_flow('g', '{}', pgflow_test.w(102));
select count(*) from pgflow.read_and_claim_tasks('g', 1, 5, pgflow_test.w(2));
update pgflow.step_tasks set requeued_count = 3 where run_id = pgflow_test.w(102);
select pgflow_test.let_deadlines_pass();
select pgflow.requeue_stalled_tasks();
select results_eq($$select step_slug, status from pgflow.step_states where run_id = pgflow_test.w(102) order by 1$$,
  $$values ('a', 'skipped'), ('b', 'started')$$, 'an exhausted step that may be skipped is skipped, its dependent goes on');

-- a message that is gone
select count(*) from pgflow.read_and_claim_tasks('g', 1, 5, pgflow_test.w(2));
select pgmq.purge_queue('g');
select pgflow_test.let_deadlines_pass();
select is(pgflow.requeue_stalled_tasks(), 1, 'a task whose message is gone is requeued');
select results_eq($$select outcome, step_slug, body_mismatch from pgflow.read_and_claim_tasks('g', 1, 5, pgflow_test.w(2))$$,
  $$values ('started', 'b', false)$$, 'with a new message, which is claimed like any other');

-- a queue that raises stops nobody else
select pgflow.cancel_run(pgflow_test.w(102));
select pgflow.start_flow('f', '{}', pgflow_test.w(103)), pgflow.start_flow('g', '{}', pgflow_test.w(104));
select count(*) from pg_temp.claim();
select count(*) from pgflow.read_and_claim_tasks('g', 1, 5, pgflow_test.w(2));
select pgflow_test.let_deadlines_pass();
update pgflow.step_tasks set recover_at = recover_at - interval '1 day' where flow_slug = 'f';
alter table pgmq.q_f rename to hidden;
select is(pgflow.requeue_stalled_tasks(), 1, 'a queue that raises is reported; the others are recovered');
select results_eq($$select flow_slug, status from pgflow.step_tasks where run_id in (pgflow_test.w(103), pgflow_test.w(104)) order by 1$$,
  $$values ('f', 'started'), ('g', 'queued')$$, 'each queue in a transaction of its own');
alter table pgmq.hidden rename to q_f;
select is(pgflow.requeue_stalled_tasks(), 1, 'it is tried again');

-- an exhausted run that raises stops nobody else
select pgflow.start_flow('f', '{}', pgflow_test.w(105));
select count(*) from pg_temp.claim();
select count(*) from pgflow.read_and_claim_tasks('g', 1, 5, pgflow_test.w(2));
update pgflow.step_tasks set requeued_count = 3 where run_id in (pgflow_test.w(103), pgflow_test.w(105));
select pgflow_test.let_deadlines_pass();
create function pg_temp.spoil() returns trigger language plpgsql as $$ begin raise exception 'spoilt'; end $$;
create trigger spoil before update on pgflow.step_states for each row when (old.run_id = '10000000-0000-4000-8000-000000000103') execute function pg_temp.spoil();
select lives_ok('select pgflow.requeue_stalled_tasks()', 'a run that raises does not end the round');
select results_eq($$select run_id, status from pgflow.runs where run_id in (pgflow_test.w(103), pgflow_test.w(104), pgflow_test.w(105)) order by 1$$,
  $$values (pgflow_test.w(103), 'started'), (pgflow_test.w(104), 'started'), (pgflow_test.w(105), 'failed')$$, 'the other exhausted run fails');
select is((select status from pgflow.step_tasks where run_id = pgflow_test.w(104)), 'queued', 'and the one that is not exhausted is requeued');
drop trigger spoil on pgflow.step_states;

-- at most 1,000 a round
select pgflow.create_flow('m'), pgflow.add_step('m', 'each', step_type => 'map');
select pgflow.register_worker(pgflow_test.w(3), 'm', 'mn', pgflow_test.pairs('m/each'));
select pgflow.start_flow('m', (select jsonb_agg(i) from generate_series(1, 1500) i));
select count(*) from pgflow.read_and_claim_tasks('m', 2000, 5, pgflow_test.w(3));
select pgflow.cancel_run(pgflow_test.w(103));
select pgflow_test.let_deadlines_pass();
select is(pgflow.requeue_stalled_tasks(), 1000, 'a round takes 1,000 tasks');
select is(pgflow.requeue_stalled_tasks(), 500, 'the next one the rest');

-- maintain
select count(*) from pgflow.read_and_claim_tasks('m', 1, 5, pgflow_test.w(3));
select pgflow_test.let_deadlines_pass();
select is(pgflow.maintain(), 1, 'maintain recovers');
insert into pgflow.workers (worker_id, queue_name, function_name, last_heartbeat_at, stopped_at, started_at) values
  (pgflow_test.w(11), 'q', 'x', clock_timestamp() - interval '61 minutes', null, '2020-01-01'),
  (pgflow_test.w(12), 'q', 'x', clock_timestamp() - interval '59 minutes', null, '2020-01-01'),
  (pgflow_test.w(13), 'q', 'x', clock_timestamp(), clock_timestamp() - interval '61 minutes', '2020-01-01'),
  (pgflow_test.w(14), 'q', 'x', clock_timestamp(), clock_timestamp() - interval '59 minutes', '2020-01-01'),
  (pgflow_test.w(15), 'q', 'x', '2020-01-01', null, '2020-01-01');
insert into pgflow.worker_task_pairs values (pgflow_test.w(11), 'm', 'each');
select count(*) from pgflow.read_and_claim_tasks('m', 1, 5, pgflow_test.w(3));
update pgflow.step_tasks set last_worker_id = pgflow_test.w(15) where status = 'started';
select is(pgflow.maintain(), 0, 'nothing to recover');
select results_eq($$select worker_id from pgflow.workers where function_name = 'x' order by 1$$,
  $$values (pgflow_test.w(12)), (pgflow_test.w(14)), (pgflow_test.w(15))$$,
  'rows of workers gone for an hour go, but one that a started task names');
select is_empty($$select from pgflow.worker_task_pairs where worker_id = pgflow_test.w(11)$$, 'their pairs go with them');
select results_eq($$select outcome, reason from pgflow.read_and_claim_tasks('q', 1, 5, pgflow_test.w(11))$$, $$values ('fenced', 'unknown')$$,
  'a host that wakes up after that is fenced');
select is((select is_deprecated from pgflow.heartbeat(pgflow_test.w(11))), true, 'and told at its heartbeat');
select is((select count(*) from pgflow.workers where function_name in ('fn', 'gn', 'mn')), 3::bigint, 'live workers stay');

-- tasks of ended runs are no candidates, however many they are, and go
select pgflow.start_flow('m', (select jsonb_agg(i) from generate_series(1, 3500) i), pgflow_test.w(106));
select count(*) from pgflow.read_and_claim_tasks('m', 5000, 5, pgflow_test.w(3));
update pgflow.runs set status = 'failed', failed_at = clock_timestamp() where run_id = pgflow_test.w(106);
update pgflow.step_tasks set recover_at = clock_timestamp() - interval '1 day', requeued_count = (task_index % 2) * 3
where run_id = pgflow_test.w(106);
select pgflow.start_flow('g', '{}', pgflow_test.w(107)), pgflow.start_flow('m', '[1]', pgflow_test.w(108));
select count(*) from pgflow.read_and_claim_tasks('m', 2000, 5, pgflow_test.w(3));
update pgflow.step_tasks set recover_at = clock_timestamp() where run_id = pgflow_test.w(108);
select is(pgflow.requeue_stalled_tasks(), 1, 'an honest task behind 3,500 of an ended run is recovered at once');
select is((select status from pgflow.step_tasks where run_id = pgflow_test.w(108)), 'queued', 'that one');
select is((select count(*) from pgflow.step_tasks where run_id = pgflow_test.w(106) and status = 'cancelled'), 1000::bigint,
  'a round ends 1,000 of the others');
select pgflow.requeue_stalled_tasks(), pgflow.requeue_stalled_tasks(), pgflow.requeue_stalled_tasks();
select results_eq($$select status, count(*) from pgflow.step_tasks where run_id = pgflow_test.w(106) group by 1$$,
  $$values ('cancelled', 3500::bigint)$$, 'until none is left');
select is((select count(*) from pgmq.q_m m join pgflow.step_tasks t on t.queue_name = 'm' and t.message_id = m.msg_id where t.run_id = pgflow_test.w(106)),
  0::bigint, 'nor a message of theirs');

select * from finish();
rollback;
