-- queue_stats: what waits on a queue, by pair.
begin;
select plan(8);

select pgflow.ensure_deployment(pgflow_test.deployment('f', null, 'routed', '{a,b,c}', '{"a": "q", "b": "q", "c": "other"}'));
select is_empty($$ select from pgflow.queue_stats('q') $$, 'an idle queue has no rows');

select pgflow_test.put_task(r.id, 'a'), pgflow_test.put_task(r.id, 'b', 'started'), pgflow_test.put_task(r.id, 'c')
from (select pgflow_test.put_run('f') as id from generate_series(1, 3)) as r;
update pgflow.step_tasks set status = 'queued', started_at = null, recover_at = null
where step_slug = 'b' and run_id = (select min(run_id::text) from pgflow.runs)::uuid;

create function pg_temp.wait_since(age interval, which text) returns void language sql as $$
  update pgmq.q_q m set vt = clock_timestamp() - age, read_ct = 1
  from pgflow.step_tasks t
  where t.message_id = m.msg_id and t.queue_name = 'q' and t.step_slug = 'a' and t.run_id = case which
    when 'max' then (select max(run_id::text) from pgflow.runs)::uuid
    when 'min' then (select min(run_id::text) from pgflow.runs)::uuid end
$$;
update pgflow.step_tasks set queued_at = clock_timestamp() - interval '1 day' where step_slug = 'a';
update pgmq.q_q set vt = clock_timestamp();
select pg_temp.wait_since('1 hour', 'max');

select results_eq($$ select flow_slug, step_slug, depth, started from pgflow.queue_stats('Q') $$,
  $$ values ('f'::text, 'a'::text, 3::bigint, 0::bigint), ('f', 'b', 1, 2) $$, 'counts queued and started tasks by pair');
select ok((select oldest_age between interval '1 hour' and interval '2 hours' from pgflow.queue_stats('q') where step_slug = 'a'),
  'the age is for how long the oldest task could have been claimed, retries before that not counted');
select pg_temp.wait_since('-1 hour', 'max');
select ok((select oldest_age < interval '1 hour' and depth = 3 from pgflow.queue_stats('q') where step_slug = 'a'),
  'a delayed task counts, and is not what waits the longest');
update pgmq.q_q set vt = clock_timestamp() + interval '1 hour';
select results_eq($$ select step_slug, depth, oldest_age from pgflow.queue_stats('q') $$,
  $$ values ('a'::text, 3::bigint, null::interval), ('b', 1, null) $$, 'where all are delayed nothing waits');
delete from pgmq.q_q;
select ok((select oldest_age > interval '23 hours' from pgflow.queue_stats('q') where step_slug = 'a'),
  'a task whose message is gone waits since it was queued');
update pgflow.step_tasks set status = 'started', started_at = queued_at, recover_at = queued_at where status = 'queued';
select results_eq($$ select step_slug, depth, oldest_age, started from pgflow.queue_stats('q') $$,
  $$ values ('a'::text, 0::bigint, null::interval, 3::bigint), ('b', 0, null, 3) $$, 'started tasks have no waiting age');
update pgflow.step_tasks set status = 'queued', started_at = null, recover_at = null, queued_at = clock_timestamp() + interval '1 hour';
select is((select oldest_age from pgflow.queue_stats('q') where step_slug = 'a'), interval '0',
  'an age is never negative, although the clock stepped back');

select * from finish();
rollback;
