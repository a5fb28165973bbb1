-- A start of a version by its own slug that the alias has left for a newer one: refused while it would pause a
-- function, accepted while nobody is there to read it.
begin;
select plan(22);

select pgflow.ensure_deployment(pgflow_test.deployment('v1', 'v', 'routed', '{a,b<a}', '{"a": "qa", "b": "qb"}'));
select pgflow.ensure_deployment(pgflow_test.deployment('v2', 'v', 'routed', '{a,b<a}', '{"a": "qa", "b": "qb"}'));
select pgflow.ensure_deployment(pgflow_test.deployment('v3', 'v', 'routed', '{a,b<a}', '{"a": "qa", "b": "qb"}'));
create temp table worker as select pgflow_test.put_worker('qa', 'f_a', '{v2/a}') as id;
create function pg_temp.set_worker(change text) returns void language plpgsql as $$
begin execute format('update pgflow.workers set %s where worker_id = (select id from worker)', change); end $$;
create function pg_temp.started(slug text) returns text language sql as $$ select flow_slug from pgflow.start_flow(slug, '1') $$;
create function pg_temp.refusal(step text, queue text, function_name text, flow text default 'v1') returns text language sql as $$
  select format('flow "%s" is older than "v2", the active version of its alias, and worker %s of function "%s" on queue "%s" does not run its step "%s"',
                flow, worker_id, function_name, queue, step)
  from pgflow.workers w where w.function_name = refusal.function_name
$$;

select is(pg_temp.started('v1'), 'v1', 'the active version starts by its own slug, whoever lacks it');
select is(pg_temp.started('v3'), 'v3', 'so does a newer one, by whoever means it');
select pgflow.activate_flow('v', 'v2', true);

select throws_ok($$ select pgflow.start_flow('v1', '1') $$, '55000', pg_temp.refusal('a', 'qa', 'f_a'),
  'an older one is refused while a worker of a queue of its lacks it: pair and worker are named');
select throws_ok($$ select pgflow.start_flows('v1', '{1,2}') $$, '55000', pg_temp.refusal('a', 'qa', 'f_a'), 'by start_flows too');
select throws_ok($$ select pgflow.start_flow_with_states('v1', '1') $$, '55000', pg_temp.refusal('a', 'qa', 'f_a'), 'and with states');
select is((select count(*) from pgflow.runs where flow_slug = 'v1'), 1::bigint, 'which leaves nothing behind');
select is(pg_temp.started('v'), 'v2', 'the alias starts its version');
select is(pg_temp.started('v2'), 'v2', 'so does the slug of the active version');
select is(pg_temp.started('v3'), 'v3', 'and a newer one');

-- Whose queue it is
select pg_temp.set_worker('standby = true');
select is(pg_temp.started('v1'), 'v1', 'a worker that stands by reads nothing');
select pg_temp.set_worker('standby = false, deprecated_at = clock_timestamp()');
select is(pg_temp.started('v1'), 'v1', 'nor does one that is deprecated');
select pg_temp.set_worker('deprecated_at = null, last_heartbeat_at = clock_timestamp() - interval ''1 minute''');
select is(pg_temp.started('v1'), 'v1', 'nor one that has not beaten for long');
select pg_temp.set_worker('last_heartbeat_at = clock_timestamp(), stopped_at = clock_timestamp()');
select is(pg_temp.started('v1'), 'v1', 'nor one that has stopped: with nobody there the tasks wait');
select pg_temp.set_worker('stopped_at = null, queue_name = ''QA''');
select throws_ok($$ select pgflow.start_flow('v1', '1') $$, '55000', pg_temp.refusal('a', 'qa', 'f_a'), 'a queue is one however it is spelt');
select pgflow.disable_worker_functions('{f_a}');
select is(pg_temp.started('v1'), 'v1', 'a worker whose function is disabled reads nothing');
select pgflow.enable_worker_function('f_a');
select pg_temp.set_worker('queue_name = ''elsewhere''');
select is(pg_temp.started('v1'), 'v1', 'a worker of another queue matters not');

-- Which pairs it has
select pg_temp.set_worker('queue_name = ''qa''');
insert into pgflow.worker_task_pairs (worker_id, flow_slug, step_slug, held) select id, 'v1', 'a', true from worker;
select is(pg_temp.started('v1'), 'v1', 'a worker that has the step starts it, or holds it: neither pauses anything');
select pgflow_test.put_worker('qb', 'f_b', '{v1/a,v2/b}');
select throws_ok($$ select pgflow.start_flow('v1', '1') $$, '55000', pg_temp.refusal('b', 'qb', 'f_b'),
  'a step that comes later counts, on its own queue');
delete from pgflow.worker_task_pairs where worker_id = (select id from worker);
select throws_ok($$ select pgflow.start_flow('v1', '1') $$, '55000', pg_temp.refusal('a', 'qa', 'f_a'),
  'a worker without any pair lacks all, and the first step is named first');

-- Which version is older
select pgflow.activate_flow('v', 'v1', true);
select is(pg_temp.started('v1'), 'v1', 'after the way back it is the active version again');
select is(pg_temp.started('v2'), 'v2', 'and none is older than the first');

-- A plain flow is its own alias
select pgflow_test.chain('plain', '{a}');
select pgflow_test.put_worker('plain', 'f_plain');
select is(pg_temp.started('plain'), 'plain', 'a plain flow is no older version of anything');

select * from finish();
rollback;
