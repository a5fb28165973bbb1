-- needs_snapshot: what preflight judges by, without any payload.
begin;
select plan(17);

select pgflow.ensure_deployment(pgflow_test.deployment('v1', 'v', 'routed', '{a,b<a}', '{"a": "q", "b": "r"}')
  || '{"options": {"maxAttempts": 7}}');
select pgflow.ensure_deployment(pgflow_test.deployment('v2', 'v', 'routed', '{a,b<a}', '{"a": "q", "b": "r"}'));
select pgflow.ensure_deployment(pgflow_test.deployment('own', 'own', 'step', '{a,b<a}'));
select pgmq.create('Elsewhere');
create temporary table run as select pgflow_test.put_run('v1') as id from generate_series(1, 3);
update pgflow.runs set input = '{"secret": "payload"}';
select pgflow_test.put_task(id, 'a') from run;
create temporary table shot as select pgflow.needs_snapshot() as doc;

select is(doc ->> 'format', 'pgflow-snapshot', 'it says what it is') from shot;
select is((doc ->> 'format_version')::int, 1, 'and in which form') from shot;
select is((doc ->> 'schema_version')::int, (select version from pgflow.schema_version()), 'it carries the version of the schema') from shot;
select ok((doc ->> 'taken_at')::timestamptz between clock_timestamp() - interval '1 minute' and clock_timestamp(), 'and its time') from shot;
select is(doc ->> 'is_local', 'false', 'and whether flows may be compiled anew') from shot;
select ok(doc::text !~ 'secret|payload', 'no payload is in it') from shot;

select is((select array_agg(f -> 'deployment' ->> 'flowSlug' order by f -> 'deployment' ->> 'flowSlug')
           from jsonb_array_elements(doc -> 'flows') as f), '{own,v1,v2}', 'it has every flow') from shot;
select is((select string_agg(format('%s %s %s %s', f -> 'deployment' ->> 'flowSlug', f ->> 'active', f ->> 'in_service', f ->> 'superseded'), ', '
             order by f -> 'deployment' ->> 'flowSlug')
           from jsonb_array_elements(doc -> 'flows') as f),
  'own true true false, v1 true true false, v2 false true false', 'and how each stands') from shot;
select is((select f -> 'deployment' -> 'options' ->> 'maxAttempts' from jsonb_array_elements(doc -> 'flows') as f
           where f -> 'deployment' ->> 'flowSlug' = 'v1'), '7', 'with its options') from shot;
select is((select array_agg(distinct d.answer ->> 'compilation' || (d.answer ->> 'differences') || (d.answer ->> 'optionDrift'))
           from (select pgflow.ensure_deployment(f -> 'deployment') as answer from shot, jsonb_array_elements(doc -> 'flows') as f) d),
  '{verified[][]}', 'the document of a flow is one that the database verifies without a difference');

select is((select string_agg(format('%s %s %s', q ->> 'queue', q ->> 'kind', q ->> 'spellings'), ', ' order by q ->> 'queue')
           from jsonb_array_elements(doc -> 'queues') as q), 'elsewhere  1, own__a step 1, own__b step 1, q shared 1, r shared 1',
  'every queue, also those of others in PGMQ') from shot;
select is((select string_agg(format('%s %s.%s %s runs %s tasks %s', n ->> 'queue', n ->> 'flow', n ->> 'step', n ->> 'reasons', n ->> 'runs', n ->> 'tasks'), '; '
             order by n ->> 'queue', n ->> 'flow', n ->> 'step')
           from jsonb_array_elements(doc -> 'needs') as n where n ->> 'flow' = 'v1'),
  'q v1.a ["active", "draining", "executable"] runs 3 tasks 3; r v1.b ["active", "draining"] runs 3 tasks 0',
  'what each queue needs, and what waits for it') from shot;
select ok((select bool_and((n ->> 'oldest') is not null) from jsonb_array_elements(doc -> 'needs') as n where n ->> 'flow' = 'v1'),
  'and since when') from shot;
select is_empty($$ select q.queue_name, c.flow_slug, c.step_slug, to_jsonb(c.reasons)
                   from pgflow.queues q, pgflow.queue_coverage(q.queue_name) c
                   except select n ->> 'queue', n ->> 'flow', n ->> 'step', n -> 'reasons'
                   from shot, jsonb_array_elements(doc -> 'needs') as n $$, 'the needs are those of queue_coverage');

select pgflow_test.put_worker('Q', 'f1', '{v1/a}');
select pgflow_test.put_worker('Q', 'f1', '{v1/a}');
select pgflow_test.put_worker('Q', 'ts');
select is((select string_agg(format('%s %s %s %s', h ->> 'queue', h ->> 'function', h ->> 'hosts', h ->> 'pairs'), '; ' order by h ->> 'function')
           from jsonb_array_elements(pgflow.needs_snapshot() -> 'hosts') as h),
  'q f1 2 [{"flow": "v1", "step": "a"}]; q ts 1 []', 'live hosts, those that do the same together');

-- More than is counted.
select pgflow_test.put_task(r.id, 'a') from (select pgflow_test.put_run('v2') as id from generate_series(1, 510)) as r;
select is((select format('%s %s %s %s', n ->> 'runs', n ->> 'runs_at_least', n ->> 'tasks', n ->> 'tasks_at_least')
           from jsonb_array_elements(pgflow.needs_snapshot() -> 'needs') as n where n ->> 'flow' = 'v2' and n ->> 'step' = 'a'),
  '500 true 500 true', 'what is many is counted in part');
-- A role that may read, and no more.
create role pgflow_test_ci;
grant usage on schema pgflow to pgflow_test_ci;
grant execute on function pgflow.needs_snapshot() to pgflow_test_ci;
set local role pgflow_test_ci;
set local transaction_read_only = on;
select is(pgflow.needs_snapshot() ->> 'format', 'pgflow-snapshot', 'a role with this one right takes it, and nothing is written');
reset role;

select * from finish();
rollback;
