-- load_manifest: what a manifest must say, and who must be in it.
begin;
select plan(52);

create function pg_temp.entry(function_name text, serves jsonb, action text, enabled boolean, modules text[] default '{a1}', start_mode text default 'process')
returns jsonb
language sql
as $$
  select jsonb_build_object('functionName', function_name, 'serves', serves, 'action', action, 'enabled', enabled,
                            'startMode', start_mode, 'modules', modules)
$$;
create function pg_temp.manifest(variadic entries jsonb[])
returns jsonb
language sql
as $$ select jsonb_build_object('deployment', 'd', 'entries', to_jsonb(entries)) $$;
-- One valid entry, with some members replaced: refused with this first problem.
create function pg_temp.refused(members jsonb, problem text, description text)
returns text
language sql
as $$
  select throws_ok(
    format('select pgflow.load_manifest(%L)', pg_temp.manifest(pg_temp.entry('fn', '{"queue": "q"}', 'replace', true) || members)),
    '22023', 'manifest "d" is not valid: ' || problem, description)
$$;

insert into pgflow.queues (queue_name, kind) values ('q', 'shared'), ('w', 'shared');

-- Form
select throws_ok($$ select pgflow.load_manifest(null) $$, '22023',
  'manifest "(none)" is not valid: deployment must be a text that names this deployment', 'refuses null');
select throws_ok($$ select pgflow.load_manifest('[]') $$, '22023', null, 'refuses what is no object');
select throws_ok($$ select pgflow.load_manifest('{"deployment": "d", "entries": []}') $$, '22023',
  'manifest "d" is not valid: entries must be a list of at least one function', 'refuses a manifest without entries');
select throws_ok($$ select pgflow.load_manifest('{"deployment": "d", "entries": 7}') $$, '22023', null, 'refuses entries that are no list');
select throws_ok($$ select pgflow.load_manifest(pg_temp.manifest(pg_temp.entry('fn', '{"queue": "q"}', 'add', true)) || '{"scope": "some"}') $$,
  '22023', 'manifest "d" is not valid: scope is "some": it must be "all" or "handler"', 'refuses an unknown scope');
select throws_ok($$ select pgflow.load_manifest(pg_temp.manifest('"fn"')) $$, '22023', null, 'refuses an entry that is no object');
select results_eq($$ select p.line from pgflow.manifest_problems(pg_temp.manifest('{}')) as p (line) $$,
  $$ values ('entries[0]: functionName must be a text'),
            ('entries[0]: action is null: it must be replace, add, keep-draining or retire'),
            ('entries[0]: enabled must say true or false: the final state of the function'),
            ('entries[0]: startMode is null: it must be process or http'),
            ('entries[0]: serves must be {"flow": SLUG} or {"queue": NAME}') $$,
  'tells of an entry that says nothing what it lacks, and of no contradiction');
select pg_temp.refused('{"module": ["m2"]}',
  'function "fn": field "module" is unknown: it must be functionName, serves, action, enabled, startMode or modules', 'refuses an unknown field of an entry');
select throws_ok($$ select pgflow.load_manifest(pg_temp.manifest(pg_temp.entry('fn', '{"queue": "q"}', 'add', true)) || '{"scop": "handler"}') $$,
  '22023', 'manifest "d" is not valid: field "scop" is unknown: it must be deployment, entries or scope', 'refuses an unknown field');
select pg_temp.refused('{"functionName": ""}', 'entries[0]: functionName must be a text', 'refuses an entry without function');
select pg_temp.refused('{"action": "restart"}',
  'function "fn": action is "restart": it must be replace, add, keep-draining or retire', 'refuses an unknown action');
select pg_temp.refused('{"enabled": "yes"}', 'function "fn": enabled must say true or false: the final state of the function',
  'refuses an entry without final state');
select pg_temp.refused('{"startMode": null}', 'function "fn": startMode is null: it must be process or http', 'refuses an unknown start mode');
select pg_temp.refused('{"serves": {}}', 'function "fn": serves must be {"flow": SLUG} or {"queue": NAME}', 'refuses an entry that serves nothing');
select pg_temp.refused('{"serves": {"flow": "f", "queue": "q"}}', 'function "fn": serves must be {"flow": SLUG} or {"queue": NAME}',
  'refuses an entry that serves two things');
select pg_temp.refused('{"modules": "m"}', 'function "fn": modules must be a list of build-ids or sha256 sums, or a list of such lists, one for each build', 'refuses modules that are no list');
select pg_temp.refused('{"modules": []}', 'function "fn": it is replaced, and no modules tell its new processes from its old ones',
  'refuses to replace processes by unnamed modules');
select pg_temp.refused('{"action": "retire"}', 'function "fn": it is retired, and would end enabled', 'refuses a retire that ends enabled');
select pg_temp.refused('{"action": "keep-draining", "enabled": false}', 'function "fn": it is kept for draining, and would end disabled',
  'refuses a keep-draining that ends disabled');
select pg_temp.refused('{"serves": {"queue": "no queue"}}', 'function "fn": serves is {"queue": "no queue"}: no flow or queue can have that name',
  'refuses a queue that cannot be');
select pg_temp.refused(jsonb_build_object('serves', jsonb_build_object('queue', repeat('q', 48))),
  format('function "fn": serves is {"queue": "%s"}: no flow or queue can have that name', repeat('q', 48)), 'refuses a queue name that is too long');
select pg_temp.refused('{"serves": {"flow": "flow_v2.so"}, "action": "add"}',
  'function "fn": serves is {"flow": "flow_v2.so"}: no flow or queue can have that name', 'refuses a flow that cannot be, added or not');
select pg_temp.refused(jsonb_build_object('modules', jsonb_build_array(m.name)),
    format('function "fn": module "%s" is neither a build-id nor a sha256 sum: pgflowctl inspect FILE.so shows both', m.name),
    'refuses a module named by ' || m.what)
from (values ('flow_v2.so', 'its file'), ('sha256:a1b2', 'a sum with its algorithm'), ('a1b', 'half a byte'), ('a1 ', 'digits and a space'),
        (repeat('a1', 65), 'more than any sum')) as m (name, what);
select is_empty($$ select pgflow._manifest_problems(pg_temp.manifest(
    pg_temp.entry('fn', '{"queue": "q"}', 'replace', true, array[repeat('A1', 20), repeat('0f', 32)]),
    pg_temp.entry('web', '{"queue": "w"}', 'replace', true, '{2026-11-30}', 'http'))) $$,
  'a build-id, a sha256 sum in either case and what an http function says of itself are good');
select throws_ok(
  $$ select pgflow.load_manifest(pg_temp.manifest(pg_temp.entry('fn', '{"queue": "q"}', 'add', true), pg_temp.entry('fn', '{"queue": "r"}', 'add', true))) $$,
  '22023', 'manifest "d" is not valid: function "fn" has 2 entries: it must have one', 'refuses a function twice');
select lives_ok(
  $$ select pgflow.load_manifest(pg_temp.manifest(pg_temp.entry('web', '{"queue": "w"}', 'replace', true, '{}', 'http')) || '{"deployment": "http"}') $$,
  'an http function needs no modules');

-- Kept
select is((select manifest from pgflow.load_manifest(pg_temp.manifest(pg_temp.entry('fn', '{"queue": "q"}', 'replace', true)))),
  pg_temp.manifest(pg_temp.entry('fn', '{"queue": "q"}', 'replace', true)), 'a manifest is stored as it is');
select results_eq($$ select deployment, fenced_at, applied_at from pgflow.deployment_manifest where deployment = 'd' $$,
  $$ values ('d'::text, null::timestamptz, null::timestamptz) $$, 'under the name of its deployment');
select is((select r.loaded_at from pgflow.load_manifest(pg_temp.manifest(pg_temp.entry('fn', '{"queue": "q"}', 'replace', true))) r),
  (select d.loaded_at from pgflow.deployment_manifest d where d.deployment = 'd'), 'the same again changes nothing');
select is((select manifest #>> '{entries,0,modules,0}' from pgflow.load_manifest(pg_temp.manifest(pg_temp.entry('fn', '{"queue": "q"}', 'replace', true, '{b2}')))),
  'b2', 'another one replaces it before the deployment begins');
select pgflow.fence_manifest('d');
select throws_ok(
  $$ select pgflow.load_manifest(pg_temp.manifest(pg_temp.entry('fn', '{"queue": "q"}', 'replace', true, '{c3}'))) $$, '55000',
  'manifest "d" is refused: its deployment has begun, with another manifest', 'and not after');
select lives_ok($$ select pgflow.load_manifest(pg_temp.manifest(pg_temp.entry('fn', '{"queue": "q"}', 'replace', true, '{b2}'))) $$,
  'the same one may be loaded at any time');

-- The affected set
select pgflow.ensure_deployment(pgflow_test.deployment('f', 'al', 'step', '{a,b}'));
select pgflow.ensure_deployment(pgflow_test.deployment('g', null, 'routed', '{x,y}', '{"x": "shared", "y": "g_only"}'));
create temporary table host as
  select pgflow_test.put_worker('f__a', 'on_a') as a, pgflow_test.put_worker('F__B', 'on_b') as b,
         pgflow_test.put_worker('shared', 'on_shared') as s, pgflow_test.put_worker('g_only', 'on_g_only') as g;

select throws_ok(
  $$ select pgflow.load_manifest(pg_temp.manifest(pg_temp.entry('new', '{"queue": "Shared"}', 'add', true)) || '{"deployment": "e1"}') $$, '55000',
  'manifest "e1" is refused: function "on_shared" consumes queue "shared" and is not in the manifest',
  'a consumer of an affected queue that is left out is named');
select throws_ok(
  $$ select pgflow.load_manifest(pg_temp.manifest(pg_temp.entry('on_a', '{"queue": "f__a"}', 'replace', true)) || '{"deployment": "e2"}') $$, '55000',
  'manifest "e2" is refused: function "on_b" consumes queue "f__b" and is not in the manifest',
  'a change of shared code affects every queue of the flow');
select lives_ok(
  $$ select pgflow.load_manifest(pg_temp.manifest(pg_temp.entry('on_a', '{"queue": "f__a"}', 'replace', true)) || '{"deployment": "e3", "scope": "handler"}') $$,
  'an isolated handler change affects its own queue only');
select throws_ok(
  $$ select pgflow.load_manifest(pg_temp.manifest(pg_temp.entry('on_a', '{"flow": "f"}', 'keep-draining', true)) || '{"deployment": "e4", "scope": "handler"}') $$, '55000',
  'manifest "e4" is refused: function "on_b" consumes queue "f__b" and is not in the manifest',
  'who serves a flow serves all its queues');
select throws_ok(
  $$ select pgflow.load_manifest(pg_temp.manifest(pg_temp.entry('on_shared', '{"queue": "shared"}', 'replace', true)) || '{"deployment": "e5"}') $$, '55000',
  'manifest "e5" is refused: function "on_g_only" consumes queue "g_only" and is not in the manifest',
  'a flow with a step on a replaced queue is changed too');
select lives_ok(
  $$ select pgflow.load_manifest(pg_temp.manifest(pg_temp.entry('on_shared', '{"queue": "shared"}', 'keep-draining', true),
       pg_temp.entry('new', '{"queue": "shared"}', 'add', true)) || '{"deployment": "e6"}') $$,
  'adding beside what is kept affects the queue itself');
select lives_ok(
  $$ select pgflow.load_manifest(pg_temp.manifest(pg_temp.entry('new', '{"flow": "not_compiled_yet"}', 'add', true)) || '{"deployment": "e7"}') $$,
  'a flow that is not compiled yet has no consumers');

select throws_ok(
  $$ select pgflow.load_manifest(pg_temp.manifest(pg_temp.entry('on_a', '{"flow": "al"}', 'replace', true)) || '{"deployment": "e8"}') $$, '55000',
  'manifest "e8" is refused: function "on_a" serves flow "al", which does not exist', 'an alias is no concrete flow');
select throws_ok(
  $$ select pgflow.load_manifest(pg_temp.manifest(pg_temp.entry('on_shared', '{"queue": "shraed"}', 'keep-draining', true)) || '{"deployment": "e10"}') $$, '55000',
  'manifest "e10" is refused: function "on_shared" serves queue "shraed", which does not exist', 'a queue that nobody knows has no consumers to name');
select lives_ok(
  $$ select pgflow.load_manifest(pg_temp.manifest(pg_temp.entry('new', '{"queue": "not_there_yet"}', 'add', true),
       pg_temp.entry('was', '{"queue": "not_there_any_more"}', 'retire', false)) || '{"deployment": "e11"}') $$,
  'what is added may come before its queue, what is retired after it');
select lives_ok(
  $$ select pgflow.load_manifest(pg_temp.manifest(pg_temp.entry('was', '{"flow": "deleted"}', 'retire', false)) || '{"deployment": "e9"}') $$,
  'a function may be retired after its flow was deleted');

-- Who consumes
update pgflow.workers set last_heartbeat_at = clock_timestamp() - interval '1 hour', stopped_at = clock_timestamp() where function_name = 'on_b';
select isnt_empty($$ select from pgflow._left_out_functions(pg_temp.manifest(pg_temp.entry('on_a', '{"flow": "f"}', 'replace', true))) $$,
  'an enabled function whose worker stopped may be started again');
select pgflow.disable_worker_functions('{on_b}');
select is_empty($$ select from pgflow._left_out_functions(pg_temp.manifest(pg_temp.entry('on_a', '{"flow": "f"}', 'replace', true))) $$,
  'a disabled one without live worker consumes nothing');
update pgflow.workers set last_heartbeat_at = clock_timestamp(), stopped_at = null where function_name = 'on_b';
select isnt_empty($$ select from pgflow._left_out_functions(pg_temp.manifest(pg_temp.entry('on_a', '{"flow": "f"}', 'replace', true))) $$,
  'a disabled one whose worker still works does');
update pgflow.workers set standby = true where function_name = 'on_b';
select is_empty($$ select from pgflow._left_out_functions(pg_temp.manifest(pg_temp.entry('on_a', '{"flow": "f"}', 'replace', true))) $$,
  'standing by it does not');
delete from pgflow.worker_functions where function_name = 'on_b';
select isnt_empty($$ select from pgflow._left_out_functions(pg_temp.manifest(pg_temp.entry('on_a', '{"flow": "f"}', 'replace', true))) $$,
  'a worker of a function that nobody tracked counts as enabled');

select * from finish();
rollback;
