-- What an open deployment has fenced is not enabled by hand, and what is enabled not deprecated, unless by force.
begin;
select plan(26);

create function pg_temp.entry(name text, action text, enabled boolean) returns jsonb language sql as $$
  select jsonb_build_object('functionName', name, 'serves', jsonb_build_object('queue', 'q_' || name), 'action', action,
                            'enabled', enabled, 'startMode', 'http') $$;
create function pg_temp.enabled() returns text language sql as $$
  select string_agg(function_name, ',' order by function_name) from pgflow.worker_functions where enabled $$;
create function pg_temp.refusal(name text, deployment text default 'd') returns text language sql as $$
  select format('functions are not enabled: function "%s" is fenced by deployment "%s"', name, deployment) $$;

select pgflow.track_worker_function(f) from unnest('{other,replaced,retired}'::text[]) f;
insert into pgflow.queues (queue_name, kind) select 'q_' || n, 'shared' from unnest('{replaced,retired}'::text[]) n;
select pgflow.load_manifest(jsonb_build_object('deployment', 'd', 'entries', jsonb_build_array(
  pg_temp.entry('replaced', 'replace', true), pg_temp.entry('added', 'add', true), pg_temp.entry('retired', 'retire', false))));
select is(pgflow.enable_worker_functions('{replaced}'), 1, 'before the fence a function is enabled, and stays so');
select pgflow.fence_manifest('d');

-- While it is open
select throws_ok($$ select pgflow.enable_worker_functions('{replaced}') $$, '55000', pg_temp.refusal('replaced'), 'a fenced function is not enabled by hand');
select throws_ok($$ select pgflow.enable_worker_functions('{added}') $$, '55000', pg_temp.refusal('added'), 'nor one that comes with the deployment');
select throws_ok($$ select pgflow.enable_worker_functions('{other,replaced,added}') $$, '55000', pg_temp.refusal('added'), 'all or none');
select is(pg_temp.enabled(), 'other,retired', 'which changed nothing');
select is(pgflow.function_fence('replaced'), 'd', 'the deployment is named');
select is(pgflow.function_fence('other'), null, 'for what it fenced alone');
select is(pgflow.enable_worker_functions('{other,retired}'), 2, 'what is enabled already may be named');
select pgflow.disable_worker_functions('{other,retired}');
select is(pgflow.enable_worker_functions('{other,retired}'), 2, 'and what the deployment did not fence be enabled');
select is(pgflow.enable_worker_functions('{replaced}', force => true), 1, 'force lifts the fence');
select is(pgflow.enable_worker_functions('{replaced}'), 1, 'after which nothing holds it');
select pgflow.disable_worker_functions('{replaced}');
select throws_ok($$ select pgflow.enable_worker_functions('{replaced}', null) $$, '55000', null, 'no word is no force');
select is((select paused_at from pgflow.worker_functions where function_name = 'replaced'), null, 'a disable is no pause');

-- A pause is cleared as before
update pgflow.worker_functions set enabled = false, paused_at = clock_timestamp(), pause_reason = '{}' where function_name = 'other';
select pgflow.enable_worker_functions('{other}');
select results_eq($$ select enabled, paused_at, pause_reason from pgflow.worker_functions where function_name = 'other' $$,
  $$ values (true, null::timestamptz, null::jsonb) $$, 'an enable clears the pause');
select throws_ok($$ select pgflow.enable_worker_functions('{other,nope}') $$, '42704', 'no such worker function: "nope"', 'an unknown name is refused');
select lives_ok($$ select pgflow.enable_worker_function('added') $$, 'the form of 0.1 asks nobody');
select pgflow.disable_worker_functions('{added}');

-- Deprecation
insert into pgflow.workers (worker_id, queue_name, function_name) values
  (pgflow_test.w(1), 'q_other', 'other'), (pgflow_test.w(2), 'q_replaced', 'replaced'), (pgflow_test.w(3), 'q_none', 'untracked');
select throws_ok($$ select pgflow.deprecate_function_workers('{replaced,other}') $$, '55000',
  'workers are not deprecated: function "other" is enabled: what starts its hosts would bring the same code back',
  'the workers of an enabled function are not deprecated');
select is((select count(*) from pgflow.workers where deprecated_at is not null), 0::bigint, 'all or none');
select is(pgflow.deprecate_function_workers('{replaced}'), 1, 'those of a disabled one are');
select is(pgflow.deprecate_function_workers('{untracked}'), 1, 'so are those of one without a row, which nothing enables');
select is(pgflow.deprecate_function_workers('{other}', force => true), 1, 'and those of an enabled one by force');
select throws_ok($$ select pgflow.deprecate_function_workers('{nope}') $$, '42704', null, 'an unknown name is refused');

-- When it is over
select pgflow.enable_worker_function('other');
update pgflow.workers set stopped_at = clock_timestamp();
update pgflow.deployment_manifest set applied_at = clock_timestamp();
select is(pgflow.function_fence('replaced'), null, 'an applied deployment holds nothing');
select is(pgflow.enable_worker_functions('{replaced}'), 1, 'what it left disabled may be enabled');
select pgflow.disable_worker_functions('{replaced}');
update pgflow.deployment_manifest set fenced_at = clock_timestamp();
select throws_ok($$ select pgflow.enable_worker_functions('{replaced}') $$, '55000', pg_temp.refusal('replaced'), 'until it is fenced once more');
update pgflow.deployment_manifest set closed_at = clock_timestamp();
select is(pgflow.enable_worker_functions('{replaced}'), 1, 'a closed one holds nothing');

select * from finish();
rollback;
