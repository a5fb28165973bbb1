-- delete_worker_function: takes a function off the list.
begin;
select plan(6);

select pgflow.track_worker_function('trial', 'process');
select ok(not pgflow.delete_worker_function('nobody'), 'a function that is not there is no error');
select throws_ok($$ select pgflow.delete_worker_function('trial') $$, '55000', 'worker function "trial" is enabled', 'an enabled one stays');
select pgflow.create_flow('f'), pgflow.add_step('f', 'a'),
       pgflow.register_worker(pgflow_test.w(1), 'f', 'trial', pgflow_test.pairs('f/a'));
select pgflow.disable_worker_functions('{trial}');
select throws_ok($$ select pgflow.delete_worker_function('trial') $$, '55000', 'worker function "trial" has live workers', 'one with a live worker stays');
select pgflow.mark_worker_stopped(pgflow_test.w(1));
select ok(pgflow.delete_worker_function('trial'), 'one that nobody uses goes');
select is_empty('select from pgflow.worker_functions', 'it is no longer listed');

insert into pgflow.worker_functions (function_name, enabled, start_mode) values ('pinned', false, 'process');
insert into pgflow.function_pins (function_name, deployment, queue_name, module_sets) values ('pinned', 'd', 'f', '[["a"]]');
select throws_ok($$ select pgflow.delete_worker_function('pinned') $$, '55000', 'worker function "pinned" is named by an applied manifest',
  'one that a manifest pins stays');

select * from finish();
rollback;
