-- drain_status: runs left, tasks left, where they may go, who still carries it.
begin;
select plan(12);

select pgflow.ensure_deployment(pgflow_test.deployment('v1', 'v', 'routed', '{a,b<a,c<b}', '{"a": "qa", "b": "qb", "c": "qc"}'));
select pgflow.ensure_deployment(pgflow_test.deployment('v2', 'v'));
create temporary table run as select pgflow_test.put_run('v1') as first, pgflow_test.put_run('v1') as second;
select pgflow_test.put_task(first, 'a'), pgflow_test.put_task(second, 'a', 'started') from run;
create temporary table host as select pgflow_test.put_worker('qa', 'f_a', '{v1/a,v2/a}') as id;
select pgflow_test.put_worker('qz', 'f_z', '{v2/a}');

select results_eq(
  $$ select alias, is_active, retired_at, started_runs, live_tasks, reachable_queues, safe_to_retire, blockers
     from pgflow.drain_status('v1') $$,
  $$ values ('v'::text, true, null::timestamptz, 2::bigint,
       '[{"queue": "qa", "status": "queued", "tasks": 1}, {"queue": "qa", "status": "started", "tasks": 1}]'::jsonb,
       '{qa,qb,qc}'::text[], false,
       array['2 started runs', '1 queued task on queue "qa"', '1 started task on queue "qa"', 'alias "v" points at it']) $$,
  'shows everything that is left');
select is((select live_workers from pgflow.drain_status('v1')),
  (select jsonb_build_array(jsonb_build_object('workerId', id, 'functionName', 'f_a', 'queue', 'qa', 'standby', false)) from host),
  'and the live workers that carry it, not their neighbours');

select pgflow.activate_flow('v', 'v2', true);
update pgflow.step_states set status = 'completed', remaining_tasks = 0, completed_at = started_at where step_slug = 'a';
update pgflow.step_tasks set status = 'completed', started_at = queued_at, completed_at = queued_at, recover_at = null;
select results_eq($$ select is_active, started_runs, live_tasks, reachable_queues, safe_to_retire from pgflow.drain_status('v1') $$,
  $$ values (false, 2::bigint, '[]'::jsonb, '{qb,qc}'::text[], false) $$,
  'a run whose next step has no task yet is not drained');

update pgflow.runs set status = 'completed', remaining_steps = 0, completed_at = started_at, output = '{}';
update pgflow.step_states set status = 'completed', remaining_tasks = 0, initial_tasks = 1, remaining_deps = 0,
  started_at = created_at, completed_at = created_at where status = 'created';
select results_eq($$ select started_runs, reachable_queues, safe_to_retire, blockers from pgflow.drain_status('v1') $$,
  $$ values (0::bigint, '{}'::text[], true, '{}'::text[]) $$, 'nothing left: safe to retire');

select pgflow.start_flow('v1', '{}');
select is((select safe_to_retire from pgflow.drain_status('v1')), false,
  'a run started directly on the old slug makes it unsafe again');
select pgflow.cancel_run(run_id, 'test') from pgflow.runs where status = 'started';
select is((select safe_to_retire from pgflow.drain_status('v1')), true, 'until it has ended');
select pgflow.retire_flow('v1');
select isnt((select retired_at from pgflow.drain_status('v1')), null, 'shows when it was retired');

select pgflow.create_flow('plain');
select results_eq($$ select is_active, safe_to_retire from pgflow.drain_status('plain') $$, $$ values (true, true) $$,
  'a plain flow is safe although it is its own alias');
update pgflow.workers set deprecated_at = clock_timestamp() where worker_id = (select id from host);
select is((select live_workers from pgflow.drain_status('v1')), '[]', 'a deprecated worker does not count');

select throws_ok($$ select * from pgflow.drain_status('nope') $$, '42704', 'flow "nope" does not exist',
  'unknown is never "nothing left"');
select throws_ok($$ select * from pgflow.drain_status('v') $$, '42704',
  'flow "v" does not exist: it is an alias, and its active version is "v2"', 'an alias is no flow');

-- Cost: a backlog of neighbours on the same queues is not read.
select pgflow.ensure_deployment(pgflow_test.deployment('busy', null, 'routed', '{a}', '{"a": "qa"}'));
create temporary table reading as select pgflow_test.put_task(pgflow_test.put_run('busy'), 'a') as n from generate_series(1, 500);
analyze pgflow.step_tasks, pgflow.queues;
create function pg_temp.tasks_read()
returns bigint
language sql
volatile
as $$
  select sum(pg_stat_get_xact_tuples_returned(c.oid) + pg_stat_get_xact_tuples_fetched(c.oid))::bigint
  from pg_class c
  where c.relnamespace = 'pgflow'::regnamespace and c.relname like 'step_tasks%'
$$;
create temporary table before as select pg_temp.tasks_read() as n;
select pgflow.drain_status('v2');
select cmp_ok(pg_temp.tasks_read() - (select n from before), '<', 50::bigint, 'neighbours on the same queue are not read');

select * from finish();
rollback;
