-- ensure_flow_compiled: the form that existing clients call.
begin;
select plan(24);

select is(pgflow.ensure_flow_compiled('f', '{"steps": [{"slug": "a"}, {"slug": "b", "dependencies": ["a"]}], "options": {"timeout": 9}}'),
  '{"status": "compiled", "differences": [], "mismatchKind": null}', 'compiles a new flow');
select results_eq($$ select alias, queue_mode, opt_timeout from pgflow.flows $$, $$ values ('f'::text, 'flow'::text, 9) $$,
  'as a plain flow with its options');
select is((select active_flow_slug from pgflow.flow_aliases), 'f', 'which is active');
select is(pgflow.ensure_flow_compiled('f', '{"steps": [{"slug": "a"}, {"slug": "b", "dependencies": ["a"]}], "options": {"timeout": 1}}'),
  '{"status": "verified", "differences": [], "mismatchKind": null}', 'verifies the same shape, whatever the options');
select is((select opt_timeout from pgflow.flows), 9, 'options stay as stored');
select is(pgflow.ensure_flow_compiled('f', '{"steps": [{"slug": "a"}]}'),
  '{"status": "mismatch", "differences": ["step 1 \"b\" is in the database only"], "mismatchKind": "shape"}', 'reports another shape');
select is((select count(*) from pgflow.steps), 2::bigint, 'a mismatch changes nothing');
select is(pgflow.ensure_flow_compiled('f', '{"steps": [{"slug": "a"}]}', null) ->> 'status', 'mismatch',
  'allow_data_loss null means no');

select pgflow_test.put_task(pgflow_test.put_run('f'), 'a');
select is(pgflow.ensure_flow_compiled('f', '{"steps": [{"slug": "c"}]}', true) ->> 'status', 'recompiled',
  'with allow_data_loss the flow is compiled anew');
select is((select array_agg(step_slug) from pgflow.steps), '{c}', 'its steps are the new ones');
select is_empty($$ select from pgflow.runs $$, 'its runs are gone');
select is(pgflow_test.queue_length('f'), 0::bigint, 'and its messages');
select is((select count(*) from pgflow.alias_switches), 1::bigint, 'the alias was kept');

select throws_ok($$ select pgflow.ensure_flow_compiled('_a__b', '{"steps": []}') $$, '22023',
  'flow "_a__b" cannot be made: the slug "_a__b" is not valid: no _ at its start or end and no __', 'a new flow has no underscores at its ends, and no two');
select throws_ok($$ select pgflow.ensure_flow_compiled('ab', '{"steps": [{"slug": "x_"}]}') $$, '22023', null, 'nor has a step of it');
select throws_ok($$ select pgflow.ensure_flow_compiled('ab', '{"steps": [{"slug": "x"}, {"slug": "X"}]}') $$, '22023', null, 'no two steps differ by case alone');
select is(pgflow.ensure_flow_compiled('ab', '{"steps": []}') ->> 'status', 'compiled', 'existing clients may have no steps');
insert into pgflow.flows (flow_slug, alias) values ('_a__b', '_a__b');
insert into pgflow.queues (queue_name, kind, owner_flow_slug) values ('_a__b', 'flow', '_a__b');
insert into pgflow.steps (flow_slug, step_slug, step_index, queue_name) values ('_a__b', '_x', 0, '_a__b');
select pgmq.create('_a__b');
select is(pgflow.ensure_flow_compiled('_a__b', '{"steps": [{"slug": "_x"}]}') ->> 'status', 'verified', 'a flow that was made before goes on');
select throws_ok($$ select pgflow.ensure_flow_compiled('g', '{"steps": [{"slug": "a"}, {"slug": "a"}]}') $$, '22023',
  'deployment of flow "g" is not valid: step slug "a" is used 2 times', 'refuses a slug twice');
select throws_ok($$ select pgflow.ensure_flow_compiled('g', '{}') $$, '22023',
  'deployment of flow "g" is not valid: steps must be array, not null', 'refuses a shape without steps');
select throws_ok($$ select pgflow.ensure_flow_compiled('g', null) $$, '22023',
  'deployment of flow "g" is not valid: steps must be array, not null', 'refuses null');

-- A version with an alias and routes, compiled anew through this form
select pgflow.ensure_deployment(pgflow_test.deployment('v1', 'v', 'routed', '{a}', '{"a": "q1"}'));
select is(pgflow.ensure_flow_compiled('v1', '{"steps": [{"slug": "a"}, {"slug": "b"}]}', true) ->> 'status', 'recompiled',
  'a version of an alias is compiled anew too');
select results_eq($$ select f.alias, s.step_slug, s.queue_name from pgflow.flows f join pgflow.steps s using (flow_slug)
                     where f.flow_slug = 'v1' order by s.step_index $$,
  $$ values ('v'::text, 'a'::text, 'q1'::text), ('v', 'b', 'v1') $$, 'keeping its alias and routes');
select is((select active_flow_slug from pgflow.flow_aliases where alias = 'v'), 'v1', 'and staying active');

select * from finish();
rollback;
