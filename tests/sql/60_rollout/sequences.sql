-- The two rollout sequences, as calls: what the database lets through at each step.
begin;
select plan(31);

create function pg_temp.host(n int)
returns uuid
language sql
as $$ select ('00000000-0000-0000-0000-' || lpad(n::text, 12, '0'))::uuid $$;
create function pg_temp.info(build_id text)
returns jsonb
language sql
as $$ select jsonb_build_object('modules', jsonb_build_array(jsonb_build_object('flow', 'v1', 'buildId', build_id))) $$;
create function pg_temp.register(n int, queue_name text, pairs pgflow.task_pair[], build_id text, standby boolean default false,
                                 predecessor int default null, function_name text default 'fn')
returns text
language sql
as $$
  select pgflow.register_worker(pg_temp.host(n), queue_name, function_name, pairs, pg_temp.info(build_id), standby,
                                predecessor => pg_temp.host(predecessor))
$$;
create function pg_temp.claim(n int, queue_name text)
returns text
language sql
as $$
  select string_agg(concat_ws(' ', c.outcome, c.reason, c.step_slug), ', ' order by c.msg_id)
  from pgflow.read_and_claim_tasks(queue_name, 10, 5, pg_temp.host(n)) as c
$$;

-- Sequence A: compatible code is replaced, same flow and queue.
select pgflow.ensure_deployment(pgflow_test.deployment('v1', 'v', 'routed', '{a}', '{"a": "q"}'));
select pgflow.track_worker_function('fn', 'process');
select pg_temp.register(1, 'q', '{"(v1,a)"}', '01d0');
select pgflow.start_flow('v', '{}');
select pgflow.load_manifest('{"deployment": "A", "entries": [{"functionName": "fn", "serves": {"queue": "q"}, "action": "replace",
  "enabled": true, "startMode": "process", "modules": ["0e3f"]}]}');

select is(pg_temp.claim(1, 'q'), 'started a', 'before the fence the old host claims');
select pgflow.start_flow('v', '{}');
select pgflow.fence_manifest('A');
select ok((select must_stop and not is_deprecated from pgflow.heartbeat(pg_temp.host(1))), 'disabled: it learns that it must stop');
select is(pg_temp.claim(1, 'q'), 'fenced must_stop', 'and claims nothing even before it knows');
select is(pgflow.deprecate_workers('{fn}'), 1, 'its row is deprecated');
select is(pg_temp.claim(1, 'q'), 'fenced deprecated', 'now it is fenced for good');
select is(pg_temp.register(2, 'q', '{"(v1,a)"}', '01d0'), 'disabled', 'its supervisor starts old code again: that may not work');
select is(pg_temp.register(2, 'q', '{}', '01d0', standby => true), 'registered', 'only stand by');
select is((select outcome from pgflow.finish_tasks(pg_temp.host(1), array(select run_id from pgflow.step_tasks where status = 'started'),
  '{a}', '{0}', '{1}', '{completed}', '{1}', '{null}')), 'completed', 'what the old host held it still finishes');
select pgflow.mark_worker_stopped(pg_temp.host(1));
select is((select count(*) from pgflow.step_tasks where status = 'started' and last_worker_id = pg_temp.host(1)), 0::bigint,
  'then nothing is in its hands');

select is(pg_temp.register(3, 'q', '{}', '0e3f', standby => true), 'registered', 'the new host stands by');
select matches(array_to_string(notes, ' '), 'worker 00000000-0000-0000-0000-000000000002 of function "fn"', 'the old process that came back is seen')
from pgflow.rollout_progress('A') where name = 'deploy';
select pgflow.deprecate_workers('{fn}');
select pg_temp.register(4, 'q', '{}', '0e3f', standby => true);
select results_eq($$ select * from pgflow.apply_manifest('A') $$, $$ values ('fn'::text, true) $$, 'without it the function is enabled');
select is(pg_temp.register(5, 'q', '{"(v1,a)"}', '01d0', predecessor => 2), 'superseded', 'the old process cannot slip in after that');
select is(pg_temp.register(6, 'q', '{"(v1,a)"}', '0e3f', predecessor => 4), 'registered', 'the new one works');
select is(pg_temp.claim(1, 'q'), 'fenced deprecated', 'an old host that slept through all of it claims nothing');
select is(pg_temp.claim(6, 'q'), 'started a', 'the new one takes what waited');
select is_empty($$ select from pgflow.missing_coverage('q', array(
  select (p.flow_slug, p.step_slug)::pgflow.task_pair from pgflow.worker_task_pairs p where p.worker_id = pg_temp.host(6))) $$,
  'the queue is covered');

-- Sequence B: a new concrete version on queues of its own.
select pgflow.load_manifest('{"deployment": "B", "entries": [
  {"functionName": "fn", "serves": {"flow": "v1"}, "action": "keep-draining", "enabled": true, "startMode": "process"},
  {"functionName": "fn2a", "serves": {"queue": "v2__a"}, "action": "add", "enabled": true, "startMode": "process"},
  {"functionName": "fn2b", "serves": {"queue": "v2__b"}, "action": "add", "enabled": true, "startMode": "process"}]}');
select pgflow.fence_manifest('B');
select is((select enabled from pgflow.worker_functions where function_name = 'fn'), true, 'the old function stays enabled');
select is((select bool_or(enabled) from pgflow.worker_functions where function_name like 'fn2_'), false, 'the new ones begin disabled');
select pgflow.apply_deployment('B', true);
select pgflow.ensure_deployment(pgflow_test.deployment('v2', 'v', 'step', '{a,b<a}'));
select pg_temp.register(11, 'v2__a', '{"(v2,a)"}', 'v2', function_name => 'fn2a');
select is((select activation from pgflow.offer_activation('v2', pg_temp.host(11))), 'waiting', 'a worker is missing for one new queue');
select is((select flow_slug from pgflow.start_flow('v', '{}')), 'v1', 'the switch waits, V1 serves');
select pg_temp.register(12, 'v2__b', '{"(v2,b)"}', 'v2', function_name => 'fn2b');
select is((select activation from pgflow.offer_activation('v2', pg_temp.host(12))), 'activated', 'the last one comes up');
select is((select flow_slug from pgflow.start_flow('v', '{}')), 'v2', 'new starts go to V2');
select is((select safe_to_retire from pgflow.drain_status('v1')), false, 'V1 drains');
select is(pg_temp.claim(6, 'q'), 'started a', 'on its own workers');
select results_eq(
  $$ select outcome from pgflow.finish_tasks(pg_temp.host(6), array(select run_id from pgflow.step_tasks where status = 'started' order by run_id),
       array(select step_slug from pgflow.step_tasks where status = 'started'), array(select 0 from pgflow.step_tasks where status = 'started'),
       array(select 1 from pgflow.step_tasks where status = 'started'), array(select 'completed' from pgflow.step_tasks where status = 'started'),
       array(select '1' from pgflow.step_tasks where status = 'started'), array(select null::text from pgflow.step_tasks where status = 'started')) $$,
  array['completed', 'completed'], 'to its end');
select is((select safe_to_retire from pgflow.drain_status('v1')), true, 'then it is safe to retire');

select pgflow.load_manifest('{"deployment": "B2", "entries": [
  {"functionName": "fn", "serves": {"flow": "v1"}, "action": "retire", "enabled": false, "startMode": "process"}]}');
select pgflow.fence_manifest('B2');
select is((select enabled from pgflow.worker_functions where function_name = 'fn'), true, 'a retire is not fenced');
select results_eq($$ select * from pgflow.apply_manifest('B2') $$, $$ values ('fn'::text, false) $$, 'it ends disabled');
select pgflow.deprecate_workers('{fn}');
select isnt((select retired_at from pgflow.retire_flow('v1')), null, 'and the version is retired');
select throws_ok($$ select pgflow.start_flow('v1', '{}') $$, '55000', null, 'a late start on it is refused');

select * from finish();
rollback;
