-- Worker functions: tracking, fencing, enabling.
begin;
select plan(30);

-- track
select pgflow.track_worker_function('http_fn');
select pgflow.track_worker_function('host_fn', 'process');
select results_eq($$select function_name, enabled, debounce, start_mode from pgflow.worker_functions order by 1$$,
  $$values ('host_fn', true, '6 seconds'::interval, 'process'), ('http_fn', true, '6 seconds', 'http')$$,
  'a new function is enabled, http by default');
update pgflow.worker_functions
set enabled = false, debounce = '1 minute', last_invoked_at = '2020-01-01', paused_at = '2020-01-01', pause_reason = '{"queue": "q"}'
where function_name = 'host_fn';
select pgflow.track_worker_function('host_fn', 'process');
select results_eq(
  $$select enabled, debounce, last_invoked_at, paused_at, pause_reason from pgflow.worker_functions where function_name = 'host_fn'$$,
  $$values (false, '1 minute'::interval, '2020-01-01'::timestamptz, '2020-01-01'::timestamptz, '{"queue": "q"}'::jsonb)$$,
  'tracking never enables a function, nor touches its pause');
select throws_ok($$select pgflow.track_worker_function('x', 'cron')$$, '22023', 'function "x": start_mode is "cron"', 'an unknown start mode is refused');
select throws_ok($$select pgflow.track_worker_function('')$$, '22023', 'function_name is empty', 'so is an empty name');
select throws_ok($$select pgflow.track_worker_function(null)$$, '22023', 'function_name is null', 'none at all');
select throws_ok($$select pgflow.track_worker_function('x', null)$$, '22023', 'function "x": start_mode is null', 'and no start mode');
select throws_ok($$select pgflow.insert_worker_function(null)$$, '22023', null, 'an operator''s row is held to the same');
select throws_ok($$select pgflow.insert_worker_function('x', 'cron')$$, '22023', null, 'in both');
select throws_ok($$select pgflow.register_worker('10000000-0000-4000-8000-000000000099', 'q', null, '{}')$$, '22023', null, 'and so is a registration');

-- state
select results_eq($$select * from pgflow.worker_function_state('host_fn')$$,
  $$values (false, '2020-01-01'::timestamptz, '{"queue": "q"}'::jsonb)$$, 'the state of a paused function');
select is_empty($$select * from pgflow.worker_function_state('nope')$$, 'an untracked function has none');

-- insert
select ok(pgflow.insert_worker_function('new_fn'), 'a new row is made');
select results_eq($$select enabled, start_mode from pgflow.worker_functions where function_name = 'new_fn'$$,
  $$values (false, 'process')$$, 'disabled, as process');
select ok(not pgflow.insert_worker_function('http_fn', 'process'), 'an existing row makes none');
select results_eq($$select enabled, start_mode from pgflow.worker_functions where function_name = 'http_fn'$$,
  $$values (true, 'http')$$, 'and is left untouched');
select ok(pgflow.insert_worker_function('new_http_fn', 'http'), 'a start mode can be given');
select pgflow.track_worker_function('new_fn', 'process');
select ok(not (select enabled from pgflow.worker_functions where function_name = 'new_fn'),
  'a worker of a function inserted disabled does not enable it');

-- enable
select pgflow.enable_worker_function('host_fn');
select results_eq($$select * from pgflow.worker_function_state('host_fn')$$,
  $$values (true, null::timestamptz, null::jsonb)$$, 'enabling clears the pause');
select throws_ok($$select pgflow.enable_worker_function('nope')$$, '42704', 'no such worker function: "nope"',
  'an unknown function cannot be enabled');

-- disable
update pgflow.worker_functions set enabled = false, paused_at = '2020-01-01', pause_reason = '{}' where function_name = 'host_fn';
select is(pgflow.disable_worker_functions('{host_fn,http_fn}'), 2, 'all named functions are disabled');
select results_eq($$select function_name, enabled, paused_at, pause_reason from pgflow.worker_functions
    where function_name in ('host_fn', 'http_fn') order by 1$$,
  $$values ('host_fn', false, null::timestamptz, null::jsonb), ('http_fn', false, null, null)$$,
  'an operator''s disable clears the guard''s pause: from then on it is his');
select pgflow.enable_worker_function('host_fn');
select throws_ok($$select pgflow.disable_worker_functions('{host_fn,nope,neither}')$$, '42704',
  'no such worker function: "neither", "nope"', 'unknown names are all named');
select ok((select enabled from pgflow.worker_functions where function_name = 'host_fn'), 'and nothing is disabled then');
select is(pgflow.disable_worker_functions('{}'), 0, 'nothing to disable is fine');

-- deprecate
insert into pgflow.workers (worker_id, queue_name, function_name, stopped_at, deprecated_at, last_heartbeat_at, standby) values
  (pgflow_test.w(1), 'q', 'host_fn', null, null, clock_timestamp(), false),
  (pgflow_test.w(2), 'q', 'host_fn', null, null, clock_timestamp() - interval '1 day', false),
  (pgflow_test.w(3), 'q', 'host_fn', null, null, clock_timestamp(), true),
  (pgflow_test.w(4), 'q', 'host_fn', clock_timestamp(), null, clock_timestamp(), false),
  (pgflow_test.w(5), 'q', 'host_fn', null, '2020-01-01', clock_timestamp(), false),
  (pgflow_test.w(6), 'q', 'http_fn', null, null, clock_timestamp(), false),
  (pgflow_test.w(7), 'q', 'untracked_fn', null, null, clock_timestamp(), false);
select is(pgflow.deprecate_workers('{host_fn}'), 3, 'every row that is not stopped: live, silent, standing by');
select results_eq($$select worker_id from pgflow.workers where deprecated_at > '2021-01-01' order by 1$$,
  $$values (pgflow_test.w(1)), (pgflow_test.w(2)), (pgflow_test.w(3))$$, 'those rows and no other');
select is((select deprecated_at from pgflow.workers where worker_id = pgflow_test.w(5)), '2020-01-01'::timestamptz,
  'an earlier deprecation keeps its time');
select is(pgflow.deprecate_workers('{untracked_fn}'), 1, 'a function without a row of its own can be deprecated');
select is(pgflow.deprecate_workers('{new_fn}'), 0, 'a function without workers is fine');
select throws_ok($$select pgflow.deprecate_workers('{nope}')$$, '42704', 'no such worker function: "nope"',
  'a name that nobody has is refused');

select * from finish();
rollback;
