-- A queue that was dropped and made anew serves again; queued tasks whose message is gone are sent once more.
begin;
select plan(20);
select pgflow_test.chain('f', '{a}'), pgflow_test.chain('g', '{a}');
select pgflow.register_worker(pgflow_test.w(1), 'f', 'fn', pgflow_test.pairs('f/a'));
create function pg_temp.claim() returns setof pgflow.claim_row language sql as
  $$ select * from pgflow.read_and_claim_tasks('f', 100, 5, pgflow_test.w(1)) $$;
create function pg_temp.make_anew() returns void language sql as $$ select pgmq.drop_queue('f'); select pgmq.create('f') $$;

select is(pgflow._renew_queues(), '{}', 'a queue that was never used is left alone');
select pgflow.start_flows('f', array_fill('{}'::jsonb, array[3])), pgflow.start_flow('g', '{}');
select is(pgflow._renew_queues(), '{}', 'so is one whose ids are ahead of its tasks');
select pgmq.purge_queue('g');
select is(pgflow._renew_queues(), '{g}', 'one that was purged is healed');
select results_eq($$ select q.msg_id, t.message_id from pgmq.q_g q, pgflow.step_tasks t where t.flow_slug = 'g' $$, $$ values (2::bigint, 2::bigint) $$,
  'its task has a new message');
select is(pgflow._renew_queues(), '{}', 'once');

select is((select count(*) from pgflow.read_and_claim_tasks('f', 1, 5, pgflow_test.w(1))), 1::bigint, 'one of the tasks is claimed');
select pg_temp.make_anew();
select throws_ok($$ select pgflow.start_flow('f', '{}') $$, '23505', null, 'the ids of a queue made anew name old tasks');
select is(pgflow.maintain(), 0, 'maintenance');
select is((select array_agg(msg_id order by msg_id) from pgmq.q_f), '{4,5}', 'sends the messages of the queued tasks behind the old ids');
select results_eq($$ select t.status, m.msg_id is not null from pgflow.step_tasks t left join pgmq.q_f m on m.msg_id = t.message_id
                     where t.flow_slug = 'f' order by t.message_id $$,
  $$ values ('started', false), ('queued', true), ('queued', true) $$, 'each has its own; the started one needs none');
select lives_ok($$ select pgflow.start_flow('f', '{}') $$, 'a new run can be started');
select is((select count(*) from pg_temp.claim() where outcome = 'started'), 3::bigint, 'all are claimed');
select is(pgflow._renew_queues(), '{}', 'and then it is a queue like any other');

-- A deployment that is verified looks after its own queues.
select pgflow.start_flow('f', '{}');
select pg_temp.make_anew();
select is(pgflow._renew_queues('{g}'), '{}', 'only the queues that are asked for');
select is(pgflow.ensure_deployment(pgflow_test.deployment('f')) ->> 'compilation', 'verified', 'the start of a host');
select is((select count(*) from pgmq.q_f), 1::bigint, 'has the message sent anew');

-- Nobody but the caller's transaction decides.
select pg_temp.make_anew();
savepoint before;
select pgflow._renew_queues();
rollback to before;
select is(pgflow._renew_queues(), '{f}', 'what is rolled back has healed nothing, and is done again');

-- With nothing to send, the new queue has given no id yet.
select is((select count(*) from pg_temp.claim() where outcome = 'started'), 1::bigint, 'no task waits');
select pg_temp.make_anew();
select is(pgflow._renew_queues(), '{f}', 'a queue without waiting tasks is healed');
select is(pgflow._renew_queues(), '{}', 'once, too');

select * from finish();
rollback;
