-- A queued task whose message was taken off its queue is sent again within one round, whatever else the queue holds.
begin;
select plan(25);
select pgflow_test.chain('f', '{a}'), pgflow_test.chain('g', '{a}');
select pgflow.register_worker(pgflow_test.w(1), 'f', 'fn', pgflow_test.pairs('f/a'));
create function pg_temp.claim() returns setof pgflow.claim_row language sql as
  $$ select * from pgflow.read_and_claim_tasks('f', 1000, 5, pgflow_test.w(1)) $$;
create function pg_temp.without_message() returns bigint language sql as
  $$ select count(*) from pgflow.step_tasks t where t.flow_slug = 'f' and t.status = 'queued'
     and not exists (select from pgmq.q_f m where m.msg_id = t.message_id) $$;

-- A purge, and new messages before anybody looks.
select pgflow.start_flows('f', array_fill('{}'::jsonb, array[3]));
select pgmq.purge_queue('f');
select pgflow.start_flows('f', array_fill('{}'::jsonb, array[2]));
select results_eq($$ select * from pgflow.lost_tasks() $$,
  $$ select 'f', 3::bigint, min(queued_at) from pgflow.step_tasks $$, 'what is lost can be seen');
select is(pgflow._renew_queues(), '{f}', 'a queue that was purged and went on is healed');
select is((select array_agg(msg_id order by msg_id) from pgmq.q_f), '{4,5,6,7,8}', 'by new messages for the old tasks alone');
select is(pg_temp.without_message(), 0::bigint, 'each has one');
select is_empty($$ select * from pgflow.lost_messages $$, 'and nothing is left to do');
select is_empty($$ select * from pgflow.lost_tasks() $$, 'nor to see');
select is(pgflow._renew_queues(), '{}', 'once');

-- A foreign message on the queue.
select pgmq.purge_queue('f');
select pgmq.send('f', '{"not": "ours"}');
select pgflow.maintain();
select results_eq($$ select pg_temp.without_message(), count(*) from pgmq.q_f $$, $$ values (0::bigint, 6::bigint) $$,
  'a foreign message on the queue hides nothing');

-- Some of many, by hand.
select pgmq.archive('f', t.message_id) from pgflow.step_tasks t where t.flow_slug = 'f' order by t.message_id limit 1;
select pgmq.delete('f', array(select t.message_id from pgflow.step_tasks t where t.flow_slug = 'f' order by t.message_id desc limit 2));
select is((select count(*) from pgflow.lost_messages), 3::bigint, 'what is archived and deleted by hand is noted');
select pgflow.maintain();
select is(pg_temp.without_message(), 0::bigint, 'and sent again');
delete from pgmq.q_f;
select pgflow.maintain();
select is(pg_temp.without_message(), 0::bigint, 'so is what a statement deleted');

-- By somebody who may write to the queue and not to pgflow.
create role janitor;
grant usage on schema pgmq to janitor;
grant select, delete on pgmq.q_f to janitor;
set local role janitor;
delete from pgmq.q_f;
reset role;
select pgflow.maintain();
select is(pg_temp.without_message(), 0::bigint, 'whoever did it');

-- What ends tasks notes nothing, nor what takes messages that nobody waits for.
select is((select count(*) from pg_temp.claim() where outcome = 'started'), 5::bigint, 'five are claimed');
select is((select count(*) from pgflow.finish_tasks(pgflow_test.w(1), t.runs, t.steps, t.indexes, t.claims,
             array_fill('completed'::text, array[5]), array_fill('1'::text, array[5]), array_fill(null::text, array[5]), array_fill(0, array[5]))
           where outcome = 'completed'), 5::bigint, 'and completed')
from (select array_agg(run_id) as runs, array_agg(step_slug) as steps, array_agg(task_index) as indexes, array_agg(claim_no) as claims
      from pgflow.step_tasks where flow_slug = 'f' and status = 'started') t;
select pgflow.start_flows('f', array_fill('{}'::jsonb, array[2]));
select pgflow.cancel_run(run_id) from pgflow.runs where flow_slug = 'f' and status = 'started';
select pgflow.prune_data_older_than('0 s');
select pgmq.send('f', '{}');
delete from pgmq.q_f;
select is_empty($$ select * from pgflow.lost_messages $$, 'ends of tasks, cancelled runs, pruned ones and foreign messages are no loss');
select is(current_setting('pgflow.takes_messages', true), 'off', 'and the setting that says so is off again');

-- A started task needs none until it is queued again, and a note of a task that is gone goes with it.
select pgflow.start_flow('f', '{}');
select is((select count(*) from pg_temp.claim() where outcome = 'started'), 1::bigint, 'a task is claimed');
delete from pgmq.q_f;
select is(pgflow._renew_queues(), '{}', 'its message is not sent again');
select is_empty($$ select * from pgflow.lost_messages $$, 'and the note of it is done with');
select pgflow.start_flow('g', '{}');
select pgmq.purge_queue('g');
insert into pgflow.lost_messages (queue_name, run_id, step_slug, task_index) values ('g', gen_random_uuid(), 'a', 0);
select is(pgflow._renew_queues('{f}'), '{}', 'only the queues that are asked for');
select is(pgflow._renew_queues('{g}'), '{g}', 'another one');
select is_empty($$ select * from pgflow.lost_messages $$, 'a note of a task that never was is thrown away');

-- A task of a run that has ended is not sent again, but ended.
select pgflow.start_flow('g', '{}', pgflow_test.w(101));
update pgflow.runs set status = 'failed', failed_at = clock_timestamp() where run_id = pgflow_test.w(101);
select pgmq.delete('g', (select message_id from pgflow.step_tasks where run_id = pgflow_test.w(101)));
select pgflow.maintain();
select is((select status from pgflow.step_tasks where run_id = pgflow_test.w(101)), 'cancelled', 'the task of an ended run is ended');

-- Without its triggers a queue is compared as a whole, and gets them.
drop trigger pgflow_taken on pgmq.q_g;
drop trigger pgflow_purged on pgmq.q_g;
delete from pgmq.q_g;
select pgmq.send('g', '{}');
select pgflow.maintain();
select results_eq($$ select count(*) from pgmq.q_g m join pgflow.step_tasks t on t.queue_name = 'g' and t.message_id = m.msg_id $$,
  $$ values (1::bigint) $$, 'a queue that nobody watched is healed');
select ok(pgflow._is_watched('g'), 'and watched from then on');

select * from finish();
rollback;
