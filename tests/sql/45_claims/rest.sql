-- begin_idle and end_idle: what they answer and hold in one session. With several: tests/sql/concurrency/wake_test.py.
begin;
select plan(9);

select throws_ok($$ select pgflow.begin_idle(null) $$, '22004', null, 'a rest is of a queue');

create function pg_temp.held() returns bigint language sql as $$
  select count(*) from pg_locks
  where locktype = 'advisory' and pid = pg_backend_pid() and classid = -1885826166::bigint & 4294967295
$$;

create role pgflow_test_host login in role pgflow_worker;
set session authorization pgflow_test_host;
select is(pgflow.begin_idle('Shop'), 'asleep', 'a host may rest');
select is(pgflow.begin_idle('shop'), 'asleep', 'on a queue in any spelling');
reset session authorization;
select is(pg_temp.held(), 1::bigint, 'holds one lock, however often it asks');
select is(pgflow._must_notify('shop'), true, 'and is notified of what it does itself');
select is(pgflow._must_notify('other'), false, 'but not of another queue');

set session authorization pgflow_test_host;
select lives_ok($$ select pgflow.end_idle() $$, 'it ends the rest');
reset session authorization;
select is(pgflow._must_notify('shop'), false, 'and is told no more');

create role pgflow_test_app login in role pgflow_client;
set session authorization pgflow_test_app;
select throws_ok($$ select pgflow.begin_idle('shop') $$, '42501', null, 'who starts runs does not rest');
reset session authorization;

select * from finish();
rollback;
