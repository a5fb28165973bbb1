-- One definition each of live and gone, and what uses them.
begin;
select plan(11);
insert into pgflow.workers (worker_id, queue_name, function_name, stopped_at, deprecated_at, last_heartbeat_at) values
  (pgflow_test.w(1), 'q', 'f', null, null, clock_timestamp()),
  (pgflow_test.w(2), 'q', 'f', null, null, clock_timestamp() - interval '14 seconds'),
  (pgflow_test.w(3), 'q', 'f', null, null, clock_timestamp() - interval '16 seconds'),
  (pgflow_test.w(4), 'q', 'f', null, null, clock_timestamp() - interval '31 seconds'),
  (pgflow_test.w(5), 'q', 'f', clock_timestamp(), null, clock_timestamp()),
  (pgflow_test.w(6), 'q', 'f', null, clock_timestamp(), clock_timestamp());

select results_eq('select worker_id from pgflow.workers w where pgflow._is_live(w) order by 1',
  'values (pgflow_test.w(1)), (pgflow_test.w(2))', 'live: not stopped, not deprecated, heartbeat younger than 15 s');
select results_eq('select worker_id from pgflow.workers w where pgflow._is_gone(w) order by 1',
  'values (pgflow_test.w(4)), (pgflow_test.w(5))', 'gone: stopped, or silent for 30 s');
select is((select count(*) from pgflow.workers w where not pgflow._is_gone(w) and not pgflow._is_live(w)), 2::bigint,
  'a deprecated and a briefly silent one are neither');

select results_eq('select pgflow.worker_is_live(pgflow_test.w(n)) from generate_series(1, 7) n',
  'values (true), (true), (false), (false), (false), (false), (false)', 'operators ask by id; a row that is not there is not live');
select results_eq('select pgflow.worker_is_gone(pgflow_test.w(n)) from generate_series(1, 7) n',
  'values (false), (false), (false), (true), (true), (false), (true)', 'but gone');

-- workers_missing
insert into pgflow.worker_functions (function_name, start_mode, enabled) values
  ('served', 'process', true), ('standing_by', 'process', true), ('silent', 'process', true),
  ('off', 'process', false), ('pinged', 'http', true);
insert into pgflow.workers (worker_id, queue_name, function_name, last_heartbeat_at, standby) values
  (pgflow_test.w(10), 'q', 'served', clock_timestamp(), false),
  (pgflow_test.w(11), 'q', 'standing_by', clock_timestamp(), true),
  (pgflow_test.w(12), 'q', 'silent', '2020-01-01', false);
select results_eq('select function_name from pgflow.workers_missing()', $$values ('silent'), ('standing_by')$$,
  'missing: enabled process functions without a live working worker');
select is((select last_heartbeat_at from pgflow.workers_missing() where function_name = 'silent'), '2020-01-01'::timestamptz,
  'with the last sign of life');

-- mark_worker_stopped
select pgflow.mark_worker_stopped(pgflow_test.w(10));
select ok((select stopped_at is not null from pgflow.workers where worker_id = pgflow_test.w(10)), 'a stopped worker is marked');
update pgflow.workers set stopped_at = '2100-01-01' where worker_id = pgflow_test.w(10);
select pgflow.mark_worker_stopped(pgflow_test.w(10));
select is((select stopped_at from pgflow.workers where worker_id = pgflow_test.w(10)), '2100-01-01'::timestamptz,
  'marking it again changes nothing');
select lives_ok($$select pgflow.mark_worker_stopped(pgflow_test.w(99))$$, 'an unknown worker is fine');
update pgflow.workers set started_at = '2100-01-01' where worker_id = pgflow_test.w(1);
select pgflow.mark_worker_stopped(pgflow_test.w(1));
select is((select stopped_at from pgflow.workers where worker_id = pgflow_test.w(1)), '2100-01-01'::timestamptz,
  'a clock that stepped back does not stop a worker before it started');

select * from finish();
rollback;
