-- Every form in which clients and workers of pgflow 0.14 to 0.17.1 call the three functions that changed their arguments.
begin;
select plan(50);
create temp table shape as select '{"steps": [{"slug": "a"}, {"slug": "b", "dependencies": ["a"]}]}'::jsonb as s;

-- ensure_flow_compiled of 0.14 and 0.15: (flow_slug, shape[, allow_data_loss])
select is(pgflow.ensure_flow_compiled('f', '{"steps": [{"slug": "a"}, {"slug": "b", "dependencies": ["a"]}]}') ->> 'status', 'compiled', 'two untyped arguments');
select is(pgflow.ensure_flow_compiled('f', (select s from shape)) ->> 'status', 'verified', 'two typed ones');
select is(pgflow.ensure_flow_compiled('f', (select s from shape), false) ->> 'status', 'verified', 'allow_data_loss as a boolean');
select is(pgflow.ensure_flow_compiled('f', (select s from shape), 'false') ->> 'status', 'verified', 'as an untyped literal');
select is(pgflow.ensure_flow_compiled('f', '{"steps": [{"slug": "a"}]}', 'false') ->> 'status', 'mismatch', 'which means no');
select is(pgflow.ensure_flow_compiled('f', '{"steps": [{"slug": "a"}]}', 'true') ->> 'status', 'recompiled', 'or yes');
select is(pgflow.ensure_flow_compiled('f', '{"steps": [{"slug": "b"}]}', true) ->> 'status', 'recompiled', 'as a boolean too');
select is(pgflow.ensure_flow_compiled(flow_slug => 'f', shape => '{"steps": [{"slug": "c"}]}', allow_data_loss => true) ->> 'status', 'recompiled', 'by name');
select is(pgflow.ensure_flow_compiled(flow_slug => 'f', shape => '{"steps": [{"slug": "d"}]}', allow_data_loss => 'true') ->> 'status', 'recompiled', 'by name, untyped');
select is(pgflow.ensure_flow_compiled('f', '{"steps": [{"slug": "a"}]}', null) ->> 'status', 'mismatch', 'null means no');
select is(pgflow.ensure_flow_compiled(flow_slug => 'f', shape => (select s from shape), allow_data_loss => null) ->> 'status', 'mismatch', 'by name too');
prepare three as select pgflow.ensure_flow_compiled($1, $2, $3) ->> 'status';
select results_eq($$ execute three('f', '{"steps": [{"slug": "d"}]}', 'false') $$, array['verified'], 'prepared with untyped parameters');
select results_eq($$ execute three('f', '{"steps": [{"slug": "a"}, {"slug": "b", "dependencies": ["a"]}]}', 'true') $$, array['recompiled'], 'which may be yes');
prepare typed(text, jsonb, boolean) as select pgflow.ensure_flow_compiled($1, $2, $3) ->> 'status';
select results_eq($$ execute typed('f', '{"steps": [{"slug": "a"}, {"slug": "b", "dependencies": ["a"]}]}', false) $$, array['verified'], 'prepared with types');
select results_eq($$ select pgflow.ensure_flow_compiled(flow_slug => k.flow_slug, shape => k.shape, allow_data_loss => k.allow_data_loss) ->> 'status'
  from json_to_record('{"flow_slug": "f", "shape": {"steps": []}, "allow_data_loss": false}') as k (flow_slug text, shape jsonb, allow_data_loss boolean) $$,
  array['mismatch'], 'by the keys of a JSON object, as an HTTP gateway calls it');

-- of 0.16: (flow_slug, shape)
select is(pgflow.ensure_flow_compiled(flow_slug => 'f', shape => (select s from shape)) ->> 'status', 'verified', 'two by name');
select results_eq($$ select pgflow.ensure_flow_compiled(flow_slug => k.flow_slug, shape => k.shape) ->> 'status'
  from json_to_record('{"flow_slug": "f", "shape": {"steps": [{"slug": "a"}, {"slug": "b", "dependencies": ["a"]}]}}') as k (flow_slug text, shape jsonb) $$, array['verified'], 'by two keys');

-- of 0.17: (flow_slug, shape, queue_mode, route_map)
select is(pgflow.ensure_flow_compiled('f', (select s from shape), 'flow'::text, '[{"stepSlug": "a", "queueName": "f"}, {"stepSlug": "b", "queueName": "f"}]'::jsonb),
  '{"status": "verified", "differences": [], "mismatchKind": null}', 'four typed arguments, as the worker sends them');
select is(pgflow.ensure_flow_compiled('f', '{"steps": []}', 'flow', null) ->> 'mismatchKind', 'shape', 'another shape');
select is(pgflow.ensure_flow_compiled('f', (select s from shape), 'flow') ->> 'status', 'verified', 'queue_mode as an untyped third argument');
select is(pgflow.ensure_flow_compiled('f', (select s from shape), 'step') - 'differences', '{"status": "mismatch", "mismatchKind": "routing"}', 'another mode is another routing');
select is(pgflow.ensure_flow_compiled('f', (select s from shape), 'step') -> 'differences' ->> 0, 'queueMode: flow in the database, step in the deployment', 'and says so');
select is(pgflow.ensure_flow_compiled('f', '{"steps": []}', 'step') ->> 'mismatchKind', 'shape', 'both: the shape is told');
select is(pgflow.ensure_flow_compiled('s', (select s from shape), 'step', '[{"stepSlug": "a", "queueName": "s__a"}, {"stepSlug": "b", "queueName": "s__b"}]') ->> 'status', 'compiled', 'step mode');
select results_eq($$ select queue_name from pgflow.steps where flow_slug = 's' order by step_index $$, array['s__a', 's__b'], 'on private queues');
select is(pgflow.ensure_flow_compiled('s', (select s from shape), 'step') ->> 'status', 'verified', 'verified');
select is(pgflow.ensure_flow_compiled('s', (select s from shape)) ->> 'mismatchKind', 'routing', 'without a mode it is flow');
select is(pgflow.ensure_flow_compiled('s', (select s from shape), false) ->> 'status', 'verified', 'the form that knows no mode does not ask');
select is(pgflow.ensure_flow_compiled(flow_slug => 's', shape => (select s from shape), queue_mode => null, route_map => null) ->> 'mismatchKind', 'routing', 'null is flow');
select results_eq($$ select pgflow.ensure_flow_compiled(flow_slug => k.flow_slug, shape => k.shape, queue_mode => k.queue_mode, route_map => k.route_map) ->> 'status'
  from json_to_record('{"flow_slug": "s", "shape": {"steps": [{"slug": "a"}, {"slug": "b", "dependencies": ["a"]}]}, "queue_mode": "step", "route_map": null}') as k (flow_slug text, shape jsonb, queue_mode text, route_map jsonb) $$, array['verified'], 'by four keys');
select throws_ok($$ select pgflow.ensure_flow_compiled('f', (select s from shape), 'routed') $$, '22023', 'queue_mode "routed" of flow "f" is not valid', 'a mode that existing clients do not know');
select throws_ok($$ select pgflow.ensure_flow_compiled('s', (select s from shape), 'step', '[{"stepSlug": "b", "queueName": "s__b"}, {"stepSlug": "a", "queueName": "s__a"}]') $$, '22023',
  'route_map of flow "s" is not that of queue mode step: route 1 is step "b" on queue "s__b", and it must be step "a" on queue "s__a"', 'routes in another order');
select throws_ok($$ select pgflow.ensure_flow_compiled('s', (select s from shape), 'step', '[]') $$, '22023', null, 'routes that are missing');
select throws_ok($$ select pgflow.ensure_flow_compiled('s', (select s from shape), 'step', '{}') $$, '22023', null, 'routes that are no list');
select pgflow.ensure_deployment(pgflow_test.deployment('r', null, 'routed', '{a,b<a}', '{"a": "q1", "b": "q2"}'));
select is(pgflow.ensure_flow_compiled('r', (select s from shape)) ->> 'status', 'verified', 'a routed flow of a host: the shape is compared');
select is(pgflow.ensure_flow_compiled('r', (select s from shape), 'flow', '[{"stepSlug": "a", "queueName": "r"}, {"stepSlug": "b", "queueName": "r"}]') ->> 'mismatchKind', 'routing', 'a route map too');
select is(pgflow.ensure_flow_compiled('r', (select s from shape), 'flow', '[{"stepSlug": "a", "queueName": "q1"}, {"stepSlug": "b", "queueName": "q2"}]') ->> 'status', 'verified', 'which may be right');

-- start_tasks of 0.14 to 0.16 (three arguments), and of 0.17
select pgflow.start_flow('f', '{}', pgflow_test.w(11));
select pgflow.start_flow('f', '{}', pgflow_test.w(12));
select pgflow.start_flow('f', '{}', pgflow_test.w(13));
select pgflow.start_flow('s', '{}', pgflow_test.w(14));
select pgflow.start_flow('s', '{}', pgflow_test.w(15));
create function pg_temp.message(n int) returns bigint language sql as $$ select message_id from pgflow.step_tasks where run_id = pgflow_test.w(n) and step_slug = 'a' $$;
select is((select run_id from pgflow.start_tasks('f', array[pg_temp.message(11)], pgflow_test.w(1))), pgflow_test.w(11), 'three by position');
select is((select run_id from pgflow.start_tasks(flow_slug => 'f', msg_ids => array[pg_temp.message(12)]::bigint[], worker_id => pgflow_test.w(1)::uuid)), pgflow_test.w(12), 'three by name');
select is((select run_id from pgflow.start_tasks(flow_slug => 'f', msg_ids => array[pg_temp.message(13)]::bigint[], worker_id => pgflow_test.w(1)::uuid, queue_name => 'f'::text, step_slug => null::text)), pgflow_test.w(13), 'five by name, no step');
select is((select run_id from pgflow.start_tasks(flow_slug => 's', msg_ids => array[pg_temp.message(14)]::bigint[], worker_id => pgflow_test.w(1)::uuid, queue_name => 's__a'::text, step_slug => 'a'::text)), pgflow_test.w(14), 'five by name, a step');
prepare five as select run_id from pgflow.start_tasks($1, $2, $3, $4, $5);
select results_eq(format($$ execute five('s', '{%s}', '%s', 's__a', 'a') $$, pg_temp.message(15), pgflow_test.w(1)), array[pgflow_test.w(15)], 'prepared with untyped parameters');
prepare old_three as select count(*) from pgflow.start_tasks($1, $2, $3);
select results_eq(format($$ execute old_three('f', '{1}', '%s') $$, pgflow_test.w(1)), array[0::bigint], 'three of them too');
select is_empty($$ select * from pgflow.start_tasks('f', '{}', pgflow_test.w(1), 'f') $$, 'no messages, no tasks');

-- delete_flow_and_data
select throws_ok($$ select pgflow.delete_flow_and_data() $$, '22023', 'delete_flow_and_data: 0 slugs are given', 'no slug');
select throws_ok($$ select pgflow.delete_flow_and_data('f', 's') $$, '22023', 'delete_flow_and_data: 2 slugs are given', 'two slugs');
select lives_ok($$ select pgflow.delete_flow_and_data('f') $$, 'by position');
select lives_ok($$ select pgflow.delete_flow_and_data(p_flow_slug => 's') $$, 'by the name that existing clients use');
select lives_ok($$ select pgflow.delete_flow_and_data(flow_slug => 'r') $$, 'by ours');
select is((select count(*) from pgflow.flows), 0::bigint, 'each went');

select * from finish();
rollback;
