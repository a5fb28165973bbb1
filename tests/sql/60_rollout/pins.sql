-- What apply_manifest makes of modules: the pins of functions, and the open fence.
begin;
select plan(26);

insert into pgflow.queues (queue_name, kind) select q, 'shared' from unnest('{q,q2,q3}'::text[]) as q;
create function pg_temp.entry(name text, action text, modules jsonb, serves jsonb default '{"queue": "q"}', enabled boolean default true, mode text default 'process')
returns jsonb
language sql
as $$
  select jsonb_build_object('functionName', name, 'serves', serves, 'action', action, 'enabled', enabled, 'startMode', mode, 'modules', modules)
$$;
create function pg_temp.load(deployment text, variadic entries jsonb[])
returns text
language sql
as $$ select (pgflow.load_manifest(jsonb_build_object('deployment', deployment, 'entries', to_jsonb(entries)))).deployment $$;
create function pg_temp.pins()
returns table (function_name text, deployment text, module_sets jsonb)
language sql
as $$ select p.function_name, p.deployment, p.module_sets from pgflow.function_pins p where p.ended_at is null order by 1 $$;
create function pg_temp.run(deployment text)
returns void
language plpgsql
as $$
begin
  perform pgflow.fence_manifest(deployment);
  perform pgflow.apply_deployment(deployment, true);
end
$$;

-- The modules of an entry
select results_eq($$ select pgflow._module_sets(m) from (values ('["B2", "a1"]'::jsonb), ('[["B2", "a1"], ["c3"]]'), ('[]'), (null)) as v (m) $$,
  $$ values ('[["a1", "b2"]]'::jsonb), ('[["a1", "b2"], ["c3"]]'), (null), (null) $$, 'a flat list is one set; several are several builds of one release');
select results_eq($$ select pgflow._is_module_list(m) from (values ('[["a1"], []]'::jsonb), ('[["a1"], "b2"]'), ('["a1", ["b2"]]'), ('[[1]]'), ('"a1"'), ('null')) as v (m) $$,
  $$ values (false), (false), (false), (false), (false), (true) $$, 'lists of lists of names, and no mixtures');
select throws_like($$ select pg_temp.load('bad', pg_temp.entry('fn', 'replace', '[["a1"], ["flow.so"]]')) $$, '%module "flow.so" is neither a build-id nor a sha256 sum%',
  'names within sets are looked at');
select throws_like($$ select pg_temp.load('bad', pg_temp.entry('fn', 'replace', '[["a1"], "b2"]')) $$, '%modules must be a list of build-ids or sha256 sums, or a list of such lists%',
  'a mixture is refused');
select throws_like($$ select pg_temp.load('bad', pg_temp.entry('fn', 'replace', '[[]]')) $$, '%modules must be a list%', 'an empty set is refused');

-- The open fence
select pgflow.track_worker_function('fn', 'process');
select pg_temp.load('A', pg_temp.entry('fn', 'replace', '["a1"]'), pg_temp.entry('new', 'add', null, '{"queue": "q2"}'),
                    pg_temp.entry('web', 'add', null, '{"queue": "q3"}', mode => 'http'));
select is(pgflow._open_fence('fn'), null, 'a manifest that is only loaded fences nothing');
select pgflow.fence_manifest('A');
select is(pgflow._open_fence('fn'), 'A', 'an open deployment holds what it replaces');
select is(pgflow._open_fence('new'), 'A', 'and what it adds');
select is(pgflow._open_fence('stranger'), null, 'and nothing else');
select is_empty($$ select * from pg_temp.pins() $$, 'the fence pins nothing');
select is((select detail from pgflow.worker_fence('fn', 'q', '{"modules": [{"buildId": "b0"}]}')), 'deployment "A" has fenced it', 'a host learns whose fence it is');
savepoint paused;
update pgflow.worker_functions set enabled = false, paused_at = clock_timestamp() where function_name = 'fn';
select results_eq($$ select reason, detail from pgflow.worker_fence('fn', 'q', '{"modules": [{"buildId": "b0"}]}') $$,
  $$ values ('paused', 'deployment "A" has fenced it') $$, 'also where a guard paused it');
rollback to paused;
select is((select stands_by_for from pgflow.worker_fence('fn', 'q', '{"modules": [{"buildId": "a1"}]}')), 'A', 'and that the deployment waits for it');
select is((select detail from pgflow.worker_fence('fn', 'q', '{"modules": [{"buildId": "a1"}]}')), 'deployment "A" waits for this code; it starts when that is applied',
  'in a line');

-- The apply
select pgflow.apply_deployment('A', true);
select is(pgflow._open_fence('fn'), null, 'the apply ends the fence');
select results_eq($$ select * from pg_temp.pins() $$, $$ values ('fn'::text, 'A'::text, '[["a1"]]'::jsonb), ('new', 'A', null), ('web', 'A', null) $$,
  'what gives modules is pinned, the rest is named');
select is((select deployment from pgflow._pin_of('fn')), 'A', 'the pin in force');
select is((select deployment from pgflow._pin_of('new')), null, 'none');

-- keep-draining
select pg_temp.load('B', pg_temp.entry('fn', 'keep-draining', null));
select pg_temp.run('B');
select results_eq($$ select deployment, module_sets from pg_temp.pins() where function_name = 'fn' $$, $$ values ('B'::text, '[["a1"]]'::jsonb) $$,
  'keep-draining without modules keeps the earlier pin');
select pg_temp.load('C', pg_temp.entry('fn', 'keep-draining', '[["a1"], ["a2"]]'));
select pgflow.fence_manifest('C');
select is((select reason from pgflow.worker_fence('fn', 'q', '{"modules": [{"buildId": "a2"}]}')), 'wrong_modules', 'another build is kept away');
select is((select stands_by_for from pgflow.worker_fence('fn', 'q', '{"modules": [{"buildId": "a2"}]}')), 'C', 'and stands by for the open deployment');
select pgflow.apply_deployment('C', true);
select is((select reason from pgflow.worker_fence('fn', 'q', '{"modules": [{"buildId": "a2"}]}')), null, 'until it is applied');
select pgflow.apply_deployment('C', true);
select results_eq($$ select r.deployment from pgflow.function_pins p join pgflow.function_pins r on r.pin_id = p.replaced_pin where p.function_name = 'fn' and p.ended_at is null $$,
  $$ values ('B'::text) $$, 'applied again it still knows what was before it');
select pgflow.unpin_worker_function('fn');
select pg_temp.load('D', pg_temp.entry('fn', 'keep-draining', null));
select pg_temp.run('D');
select is((select module_sets from pg_temp.pins() where function_name = 'fn'), null, 'a pin that an operator lifted is not kept');

-- retire
select pg_temp.load('E', pg_temp.entry('fn', 'replace', '["a3"]'));
select pg_temp.run('E');
select is((select deployment from pgflow._pin_of('fn')), 'E', 'the latest applied manifest counts');
select pg_temp.load('F', pg_temp.entry('fn', 'retire', '["a3"]', enabled => false));
select pg_temp.run('F');
select is((select deployment from pgflow._pin_of('fn')), null, 'what is retired is pinned no more');

select * from finish();
rollback;
