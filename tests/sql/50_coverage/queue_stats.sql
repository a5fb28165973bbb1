-- queue_stats: what waits on a queue, by pair.
begin;
select plan(5);

select pgflow.ensure_deployment(pgflow_test.deployment('f', null, 'routed', '{a,b,c}', '{"a": "q", "b": "q", "c": "other"}'));
select is_empty($$ select from pgflow.queue_stats('q') $$, 'an idle queue has no rows');

select pgflow_test.put_task(r.id, 'a'), pgflow_test.put_task(r.id, 'b', 'started'), pgflow_test.put_task(r.id, 'c')
from (select pgflow_test.put_run('f') as id from generate_series(1, 3)) as r;
update pgflow.step_tasks set status = 'queued', started_at = null, recover_at = null
where step_slug = 'b' and run_id = (select min(run_id::text) from pgflow.runs)::uuid;
update pgflow.step_tasks set queued_at = clock_timestamp() - interval '1 hour'
where step_slug = 'a' and run_id = (select max(run_id::text) from pgflow.runs)::uuid;

select results_eq($$ select flow_slug, step_slug, depth, started from pgflow.queue_stats('Q') $$,
  $$ values ('f'::text, 'a'::text, 3::bigint, 0::bigint), ('f', 'b', 1, 2) $$, 'counts queued and started tasks by pair');
select ok((select oldest_age between interval '1 hour' and interval '2 hours' from pgflow.queue_stats('q') where step_slug = 'a'),
  'the age is that of the oldest queued task');
update pgflow.step_tasks set status = 'started', started_at = queued_at, recover_at = queued_at where status = 'queued';
select results_eq($$ select step_slug, depth, oldest_age, started from pgflow.queue_stats('q') $$,
  $$ values ('a'::text, 0::bigint, null::interval, 3::bigint), ('b', 0, null, 3) $$, 'started tasks have no waiting age');
update pgflow.step_tasks set status = 'queued', started_at = null, recover_at = null, queued_at = clock_timestamp() + interval '1 hour';
select is((select oldest_age from pgflow.queue_stats('q') where step_slug = 'a'), interval '0',
  'an age is never negative, although the clock stepped back');

select * from finish();
rollback;
