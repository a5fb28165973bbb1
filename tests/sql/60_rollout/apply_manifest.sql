-- fence_manifest and apply_manifest: the final states are those declared, and are
-- refused while old code could come back.
begin;
select plan(46);

insert into pgflow.queues (queue_name, kind) select q, 'shared' from unnest('{q,q3,q4}'::text[]) as q;
select pgflow.load_manifest('{"deployment": "d", "entries": [
  {"functionName": "old", "serves": {"queue": "q"}, "action": "replace", "enabled": true, "startMode": "process", "modules": ["B1", "b2"]},
  {"functionName": "new", "serves": {"queue": "q2"}, "action": "add", "enabled": true, "startMode": "process"},
  {"functionName": "off", "serves": {"queue": "q3"}, "action": "replace", "enabled": false, "startMode": "http"},
  {"functionName": "keep", "serves": {"queue": "q4"}, "action": "keep-draining", "enabled": true, "startMode": "process"},
  {"functionName": "gone", "serves": {"queue": "q5"}, "action": "retire", "enabled": false, "startMode": "process"}]}');
select pgflow.track_worker_function('old', 'process');
select pgflow.track_worker_function('off', 'http');
select pgflow.track_worker_function('gone', 'process');
update pgflow.worker_functions set debounce = '1 minute', paused_at = clock_timestamp() - interval '1 day', enabled = false where function_name = 'off';

create function pg_temp.states()
returns table (function_name text, enabled boolean, start_mode text)
language sql
as $$ select f.function_name, f.enabled, f.start_mode from pgflow.worker_functions f order by f.function_name $$;

-- Before the fence
select throws_ok($$ select pgflow.fence_manifest('nope') $$, '42704', 'there is no manifest of deployment "nope"', 'refuses to fence an unknown deployment');
select throws_ok($$ select pgflow.apply_manifest('nope') $$, '42704', 'there is no manifest of deployment "nope"', 'refuses to apply one');
select throws_ok($$ select pgflow.apply_manifest('d') $$, '55000', 'manifest "d" is refused: function "keep" has no row yet',
  'refuses to apply before the functions are inserted');

-- The fence
select isnt((select fenced_at from pgflow.fence_manifest('d')), null, 'the time of the fence is noted');
select results_eq($$ select * from pg_temp.states() $$,
  $$ values ('gone'::text, true, 'process'::text), ('keep', false, 'process'), ('new', false, 'process'), ('off', false, 'http'), ('old', false, 'process') $$,
  'functions without row are inserted disabled with their start mode, replaced ones disabled, others untouched');
select is((select debounce from pgflow.worker_functions where function_name = 'off'), interval '1 minute', 'existing rows keep what they have');
select is((select paused_at from pgflow.worker_functions where function_name = 'off'), null, 'a pause from before becomes the operator''s disable');
select pgflow.track_worker_function('new', 'process');
select is((select enabled from pgflow.worker_functions where function_name = 'new'), false, 'tracking at startup enables nothing');

-- Old code
create temporary table host as select pgflow_test.put_worker('q', 'old', modules => '[{"buildId": "b0", "sha256": "s0"}]') as id;
create function pg_temp.apply()
returns text
language plpgsql
as $$
begin
  perform pgflow.apply_deployment('d', true);
  return 'applied';
exception when object_not_in_prerequisite_state then
  return sqlerrm;
end
$$;
create function pg_temp.refused(how text)
returns text
language sql
as $$ select format('manifest "d" is refused: worker %s of function "old" on queue "q" does not carry exactly the modules of the manifest%s', id, how) from host $$;
select is(pg_temp.apply(), pg_temp.refused(' and is at work'), 'refuses while a worker carries other modules');
update pgflow.workers set last_heartbeat_at = clock_timestamp() - interval '10 minutes';
select is(pg_temp.apply(), pg_temp.refused(' and is at work'), 'also a silent one: it may wake up');
update pgflow.workers set deprecated_at = clock_timestamp(), last_heartbeat_at = clock_timestamp();
select is(pg_temp.apply(), pg_temp.refused(' and is at work'), 'also a deprecated one that has not ended');
update pgflow.workers set last_heartbeat_at = clock_timestamp() - interval '10 minutes';
select is(pg_temp.apply(), 'applied', 'a deprecated one that is silent for 30 s is gone');
select pgmq.create('q');
select pgflow.ensure_deployment(pgflow_test.deployment('v', 'v', 'routed', '{a}', '{"a": "q"}'));
select pgflow_test.put_task(pgflow_test.put_run('v'), 'a', 'started');
update pgflow.step_tasks set last_worker_id = (select id from host);
select is(pg_temp.apply(), pg_temp.refused(' and holds 1 started task'), 'but not while it holds a started task');
update pgflow.workers set stopped_at = clock_timestamp();
select is(pg_temp.apply(), pg_temp.refused(' and holds 1 started task'), 'whatever became of it');
update pgflow.workers set stopped_at = null, deprecated_at = null, last_heartbeat_at = clock_timestamp(), info = '{"modules": [{"buildId": "b1"}, {"buildId": "b2"}]}';
select is(pg_temp.apply(), 'applied', 'a task in the hands of the right code holds nothing up');
delete from pgflow.step_tasks;
update pgflow.workers set info = '{"modules": [{"buildId": "b1", "sha256": "s1"}]}';
select is(pg_temp.apply(), pg_temp.refused(' and is at work'), 'also one that lacks a module of the manifest');
update pgflow.workers set info = '{"modules": [{"buildId": "b1"}, {"sha256": "B2"}, {"buildId": "b3"}]}';
select is(pg_temp.apply(), pg_temp.refused(' and is at work'), 'also one with a module more');
update pgflow.workers set info = '{}';
select is(pg_temp.apply(), pg_temp.refused(' and is at work'), 'also one that does not say what it carries');
update pgflow.workers set standby = true;
select is(pg_temp.apply(), 'applied', 'one that stands by is a warning: the pin keeps it there');
select is((select reason from pgflow.fenced_workers()), 'wrong_modules', 'as it does');
select matches(array_to_string(notes, ' '), 'wrong_modules: worker .* stands by, and the pin keeps it there', 'and the status tells of it')
from pgflow.rollout_progress('d') where name = 'confirm';
update pgflow.workers set standby = false, info = '{"modules": [{"buildId": "b1", "sha256": "s1"}, {"buildId": "x", "sha256": "B2"}]}';
select is(pg_temp.apply(), 'applied', 'the manifest''s modules, by build-id or sha256 in any case, are welcome');

-- Hosts
update pgflow.workers set stopped_at = clock_timestamp();
select throws_ok($$ select pgflow.apply_manifest('d') $$, '55000', 'manifest "d" is refused: function "new" has no live worker that stands by with the modules of the manifest',
  'refuses while nobody stands by for what is added or replaced');
create temporary table hosts as
  select pgflow_test.put_worker('q', 'old', modules => '[{"buildId": "b1"}]') as old, pgflow_test.put_worker('q2', 'new', modules => '[{"buildId": "any"}]') as new;
update pgflow.workers set standby = true where stopped_at is null;
select throws_ok($$ select pgflow.apply_manifest('d') $$, '55000', 'manifest "d" is refused: function "old" has no live worker that stands by with the modules of the manifest',
  'an added function without modules takes any host, a replaced one the right one');
update pgflow.workers set info = '{"modules": [{"buildId": "b1"}, {"buildId": "b2"}]}' where worker_id = (select old from hosts);
select lives_ok($$ select pgflow.apply_manifest('d') $$, 'with hosts that stand by it is applied');
update pgflow.workers set last_heartbeat_at = clock_timestamp() - interval '20 seconds';
select throws_ok($$ select pgflow.apply_deployment('d', false) $$, '55000', null, 'a host that is silent stands by for nobody');
select lives_ok($$ select pgflow.apply_deployment('d', true) $$, 'without hosts it is a deliberate act');
delete from pgflow.workers;

-- Final states
select results_eq($$ select * from pg_temp.states() $$,
  $$ values ('gone'::text, false, 'process'::text), ('keep', true, 'process'), ('new', true, 'process'), ('off', false, 'http'), ('old', true, 'process') $$,
  'the final states are those declared, whatever was enabled before');
select isnt((select applied_at from pgflow.deployment_manifest), null, 'the time is noted');
select results_eq($$ select * from pgflow.apply_deployment('d', true) order by function_name $$,
  $$ select function_name, enabled from pg_temp.states() $$, 'they are returned');

-- An http function, without modules
select pgflow_test.put_worker('q3', 'off');
update pgflow.workers set started_at = (select fenced_at - interval '1 second' from pgflow.deployment_manifest) where function_name = 'off';
select throws_ok($$ select pgflow.apply_deployment('d', true) $$, '55000', null, 'a worker from before the fence is old code where no modules tell');
update pgflow.workers set started_at = clock_timestamp() where function_name = 'off';
select lives_ok($$ select pgflow.apply_deployment('d', true) $$, 'one that came after is taken for new');

-- A guard after the fence
update pgflow.worker_functions set enabled = false, paused_at = clock_timestamp(),
  pause_reason = '{"queue": "q4", "pairs": [{"flowSlug": "f", "stepSlug": "s"}]}' where function_name = 'keep';
select throws_ok($$ select pgflow.apply_deployment('d', true) $$, '55000',
  (select format('manifest "d" is refused: function "keep" was paused by the guard at %s, after the fence: [{"flowSlug": "f", "stepSlug": "s"}]', paused_at)
   from pgflow.worker_functions where function_name = 'keep'), 'refuses while a guard paused a function after the fence');
update pgflow.worker_functions set paused_at = (select fenced_at - interval '1 second' from pgflow.deployment_manifest) where function_name = 'keep';
select lives_ok($$ select pgflow.apply_deployment('d', true) $$, 'a pause from before the fence is history');
select is((select pause_reason from pgflow.worker_functions where function_name = 'keep'), null, 'and cleared');

-- The affected set, once more
select pgflow_test.put_worker('q', 'stranger');
select throws_ok($$ select pgflow.apply_deployment('d', true) $$, '55000',
  'manifest "d" is refused: function "stranger" consumes queue "q" and is not in the manifest', 'a consumer that came since is named');
update pgflow.deployment_manifest set fenced_at = null;
update pgflow.worker_functions set enabled = false where function_name = 'stranger';
update pgflow.workers set stopped_at = clock_timestamp() where function_name = 'stranger';
select throws_ok($$ select pgflow.apply_deployment('d', true) $$, '55000',
  'manifest "d" is refused: function "off" is to be replaced and was not fenced', 'a replaced function must have been fenced');


-- Two deployments of one function
create function pg_temp.load(deployment text, action text, enabled boolean)
returns void
language sql
as $$
  select pgflow.load_manifest(jsonb_build_object('deployment', deployment, 'entries', jsonb_build_array(jsonb_build_object(
    'functionName', 'solo', 'serves', '{"queue": "q3"}'::jsonb, 'action', action, 'enabled', enabled, 'startMode', 'process', 'modules', '{a1}'::text[]))));
$$;
update pgflow.worker_functions set enabled = false where function_name = 'off';
update pgflow.workers set stopped_at = clock_timestamp();
select pgflow.track_worker_function('solo', 'process');
select pg_temp.load('A', 'replace', true);
select pg_temp.load('B', 'replace', true);
select pgflow.fence_manifest('A');
select pgflow.fence_manifest('B');
select throws_ok($$ select pgflow.apply_deployment('A', true) $$, '55000',
  (select format('manifest "A" is refused: function "solo" belongs to deployment "B" since %s, after the fence of this one', fenced_at)
   from pgflow.deployment_manifest where deployment = 'B'), 'the end of one deployment does not lift the fence of a later one');
select is((select enabled from pgflow.worker_functions where function_name = 'solo'), false, 'it holds');
select matches(array_to_string(waits_for, e'\n'), 'belongs to deployment "B"', 'the status says so') from pgflow.rollout_status('A') where name = 'apply';
select lives_ok($$ select pgflow.apply_deployment('B', true) $$, 'the later one ends');
select throws_like($$ select pgflow.fence_manifest('B') $$, 'manifest "B" is refused: its final states are set since %', 'a deployment that is applied is not fenced again by accident');
select is((select enabled from pgflow.worker_functions where function_name = 'solo'), true, 'its hosts stay in service');
select pgflow.fence_manifest('A');
select pgflow.apply_deployment('A', true);
select pgflow.fence_deployment('A', force => true);
select is((select name from pgflow.rollout_status('A') where state = 'now'), 'deploy', 'a deployment that is fenced once more begins once more');
select lives_ok($$ select pgflow.apply_deployment('A', true) $$, 'fenced once more, the first one may come back');
select pg_temp.load('C', 'keep-draining', true);
select pgflow.fence_manifest('C');
select pg_temp.load('D', 'keep-draining', true);
select pgflow.fence_manifest('D');
select lives_ok($$ select pgflow.apply_deployment('C', true) $$, 'deployments that keep a function alike may overlap');
select pg_temp.load('E', 'retire', false);
select pgflow.fence_manifest('E');
select throws_ok($$ select pgflow.apply_deployment('D', true) $$, '55000', null, 'an old manifest does not bring back what a later one retires');

select * from finish();
rollback;
