-- Pins: a function is served only by the modules that the latest applied manifest gives,
-- and a queue with a pinned function only by what a manifest names for it.
begin;
select plan(51);
select pgflow_test.chain('f');
select pgflow.track_worker_function('fn', 'process');

create function pg_temp.info(modules text[], protocol int default 2)
returns jsonb
language sql
as $$
  select jsonb_strip_nulls(jsonb_build_object('protocol', protocol, 'modules', (
    select jsonb_agg(jsonb_build_object('buildId', m, 'sha256', m || 'ff')) from unnest(modules) as m)))
$$;
create function pg_temp.register(n int, modules text[], function_name text default 'fn', queue_name text default 'f', protocol int default 2,
                                 standby boolean default false)
returns text
language sql
as $$
  select pgflow.register_worker(pgflow_test.w(n), queue_name, function_name, case when standby then '{}' else pgflow_test.pairs('f/a') end,
                                pg_temp.info(modules, protocol), standby)
$$;
create function pg_temp.claim(n int)
returns text
language sql
as $$ select string_agg(concat_ws(' ', c.outcome, c.reason), ', ') from pgflow.read_and_claim_tasks('f', 10, 5, pgflow_test.w(n)) as c $$;
create function pg_temp.claim_ids(n int)
returns text
language sql
as $$ select string_agg(concat_ws(' ', c.outcome, c.reason), ', ') from pgflow.claim_tasks('f', '{1}', pgflow_test.w(n), pgflow_test.pairs('f/a')) as c $$;
create function pg_temp.pin(module_sets jsonb, function_name text default 'fn', queue_name text default 'f', flow_slug text default null)
returns void
language sql
as $$
  update pgflow.function_pins p set ended_at = clock_timestamp() where p.function_name = pin.function_name and ended_at is null;
  insert into pgflow.function_pins (function_name, deployment, queue_name, flow_slug, module_sets)
  values (function_name, 'A', queue_name, flow_slug, module_sets);
$$;

-- A queue without manifest
select is(pg_temp.register(1, '{old}'), 'registered', 'without a manifest every host may serve');
select is(pg_temp.register(2, '{new}'), 'registered', 'whatever it carries');
select is(pg_temp.register(3, '{old}', protocol => null), 'registered', 'a host of 0.1 too');

-- Workers that registered before the pin
select pgflow.start_flow('f', '{}');
select pg_temp.pin('[["new"]]');
select is(pg_temp.claim(1), 'fenced wrong_modules', 'one that registered before the pin claims nothing');
select is(pg_temp.claim_ids(1), 'fenced wrong_modules', 'nor by ids');
select is(pg_temp.claim(3), 'fenced must_stop', 'a host of 0.1 is told what it knows');
select ok((select must_stop from pgflow.heartbeat(pgflow_test.w(1))), 'a heartbeat tells it to stop');
select ok((select must_stop from pgflow.heartbeat(pgflow_test.w(3))), 'also one of 0.1');
select results_eq('select read_ct from pgmq.q_f', 'values (0)', 'nothing was read by any of them');
select is((select admitted_pin from pgflow.workers where worker_id = pgflow_test.w(2)), null, 'the right one has not been compared yet');
select is((select must_stop from pgflow.heartbeat(pgflow_test.w(2))), false, 'its heartbeat finds it right');
select is((select admitted_pin from pgflow.workers where worker_id = pgflow_test.w(2)), (select max(pin_id) from pgflow.function_pins),
  'and notes the pin, so that its claims need not compare');
select is(pg_temp.claim(2), 'started', 'it goes on');

-- Registration
select is(pg_temp.register(11, '{old}'), 'wrong_modules', 'another build is refused, and told why');
select is((select count(*) from pgflow.workers where worker_id = pgflow_test.w(11)), 0::bigint, 'without a row');
select is(pg_temp.register(11, '{old}', protocol => null), 'disabled', 'a host of 0.1 is told what it knows');
select is(pg_temp.register(11, '{old}', protocol => 1), 'disabled', 'so is one that announces less');
select is(pg_temp.register(11, '{old}', standby => true), 'registered', 'it may stand by');
select is(pg_temp.register(12, '{new,old}'), 'wrong_modules', 'a module more is another set');
select is(pg_temp.register(12, '{newff}'), 'wrong_modules', 'a name that is none of its own is not its');
select is(pgflow.register_worker(pgflow_test.w(12), 'f', 'fn', pgflow_test.pairs('f/a'), '{"protocol": 2}'), 'wrong_modules', 'so is one that does not say what it carries');
select is(pg_temp.register(13, '{new}'), 'registered', 'the right build registers');
select is((select admitted_pin from pgflow.workers where worker_id = pgflow_test.w(13)), (select max(pin_id) from pgflow.function_pins), 'with its pin noted');
select pg_temp.pin('[["newff"]]');
select is(pg_temp.register(14, '{new}'), 'registered', 'sha256 sums name a module as well as build-ids do');
select pg_temp.pin('[["x86", "lib"], ["arm"]]');
select is(pg_temp.register(15, '{arm}'), 'registered', 'several builds of one release: the one set');
select is(pg_temp.register(16, '{lib,x86}'), 'registered', 'or the other, in any order');
select is(pg_temp.register(17, '{x86}'), 'wrong_modules', 'a part of a set is none');
select is(pg_temp.register(17, '{arm,lib}'), 'wrong_modules', 'nor is a mixture');
select is(pg_temp.claim(13), 'fenced wrong_modules', 'a pin that came later counts for those that an earlier one had admitted');

-- Other functions on the queue
select is(pg_temp.register(21, '{arm}', 'fresh'), 'not_in_manifest', 'a function that no manifest names is refused on a queue with a pinned one');
select is(pg_temp.register(21, '{arm}', 'fresh', protocol => null), 'disabled', 'a host of 0.1 is told what it knows');
select is(pg_temp.register(21, '{arm}', 'fresh', 'F'), 'not_in_manifest', 'in whatever case the queue is written');
select is(pg_temp.register(22, '{arm}', 'fresh', 'elsewhere'), 'registered', 'queues without manifest stay free');
update pgflow.workers set queue_name = 'f' where worker_id = pgflow_test.w(22);
select is(pg_temp.claim(22), 'fenced not_in_manifest', 'a row that was there before is fenced');
select ok((select must_stop from pgflow.heartbeat(pgflow_test.w(22))), 'and told to stop');
update pgflow.workers set stopped_at = clock_timestamp() where worker_id = pgflow_test.w(22);
select pg_temp.pin(null, 'second', 'f');
select is(pg_temp.register(23, '{any}', 'second'), 'registered', 'a function that is named without modules takes any code');
select pg_temp.pin('[["z"]]', 'third', 'elsewhere');
select is(pg_temp.register(24, '{z}', 'third'), 'not_in_manifest', 'named for another queue is not named for this one');
select pg_temp.pin('[["z"]]', 'third', null, 'f');
select is(pg_temp.register(24, '{z}', 'third'), 'registered', 'named for a flow is named for its queues');
select pg_temp.pin(null);
select is(pg_temp.register(21, '{arm}', 'fresh'), 'not_in_manifest', 'a function that is pinned for a flow pins the queues of the flow');

-- What hosts ask
select pg_temp.pin('[["new"], ["a1", "b2"]]');
select results_eq($$ select reason, detail, stands_by_for from pgflow.worker_fence('fn', 'f', pg_temp.info('{old}')) $$,
  $$ values ('wrong_modules', 'deployment "A" gives function "fn" to hosts that carry exactly new or a1, b2', null::text) $$, 'the fence tells who asks for what');
select results_eq($$ select reason, detail from pgflow.worker_fence('fresh', 'F', pg_temp.info('{old}')) $$,
  $$ values ('not_in_manifest', 'queue "f" is served by what deployments name, and none names function "fresh" for it') $$, 'also of a name that no manifest has');
select is((select reason from pgflow.worker_fence('fn', 'f', pg_temp.info('{new}'))), null, 'nothing keeps the right one');
select pgflow.disable_worker_functions('{fn}');
select is((select reason from pgflow.worker_fence('fn', 'f', pg_temp.info('{old}'))), 'disabled', 'a disable comes first');
select is((select reason from pgflow.worker_fence('nobody', 'q', '{}')), 'disabled', 'a function that nobody tracked may not start');
select pgflow.enable_worker_function('fn');

-- Hosts of 0.1 cannot say what they carry
update pgflow.workers set stopped_at = clock_timestamp() where stopped_at is null;
select is((select enabled from pgflow.worker_function_state('fn')), true, 'nobody of 0.1 stands by: the next one may be right');
select pg_temp.register(31, '{old}', protocol => null, standby => true);
select is((select enabled from pgflow.worker_function_state('fn')), false, 'one that the pin keeps away is not sent round');
select pg_temp.register(32, '{new}', protocol => null, standby => true);
select is((select enabled from pgflow.worker_function_state('fn')), true, 'one that is right may start');
select pgflow.mark_worker_stopped(pgflow_test.w(32));

-- The way out
select is(pgflow.unpin_worker_function('fn'), true, 'an operator lifts the pin');
select ok((select unpinned_by = session_user and unpinned_at <= clock_timestamp() from pgflow.function_pins where function_name = 'fn' and ended_at is null),
  'who and when is recorded');
select is(pg_temp.register(33, '{hotfix}'), 'registered', 'any code may serve');
select throws_ok($$ select pgflow.unpin_worker_function('nope') $$, '42704', null, 'an unknown function is refused');

select * from finish();
rollback;
