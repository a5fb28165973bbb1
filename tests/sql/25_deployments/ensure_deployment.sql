-- ensure_deployment: compiled, verified, mismatch; the first version is activated.
begin;
select plan(19);

select is(pgflow.ensure_deployment(pgflow_test.deployment('t1', 't', 'routed', '{a,b<a}', '{"a": "qa", "b": "qb"}')),
  '{"compilation": "compiled", "activation": "activated", "alias": "t", "activeFlowSlug": "t1", "queueMode": "routed",
    "differences": [], "optionDrift": []}',
  'the first version is compiled and activated');
select results_eq($$ select queue_name, kind from pgflow.queues order by 1 $$,
  $$ values ('qa'::text, 'shared'::text), ('qb', 'shared') $$, 'only the queues of its routes are made');
select is(pgflow.ensure_deployment(pgflow_test.deployment('t1', 't', 'routed', '{a,b<a}', '{"a": "QA", "b": "qb"}')),
  '{"compilation": "verified", "activation": "active", "alias": "t", "activeFlowSlug": "t1", "queueMode": "routed",
    "differences": [], "optionDrift": []}',
  'the same again is verified; queue names are compared in canonical form');
select is(pgflow.ensure_deployment(pgflow_test.deployment('t2', 't')),
  '{"compilation": "compiled", "activation": "inactive", "alias": "t", "activeFlowSlug": "t1", "queueMode": "flow",
    "differences": [], "optionDrift": []}',
  'a later version is compiled and not activated');
select is((select count(*) from pgflow.alias_switches), 1::bigint, 'one switch is recorded');
select is(pgflow.ensure_deployment(pgflow_test.deployment('plain')) - 'differences' - 'optionDrift',
  '{"compilation": "compiled", "activation": "activated", "alias": "plain", "activeFlowSlug": "plain", "queueMode": "flow"}',
  'without alias it is a plain flow');

-- Every part of a deployment, stored
select pgflow.ensure_deployment('{"flowSlug": "whole", "alias": "all_parts", "queueMode": "step",
  "options": {"maxAttempts": 2, "baseDelay": 0, "timeout": 5},
  "steps": [{"slug": "list", "contract": "c1", "wantsFlowInput": true,
             "options": {"maxAttempts": 4, "baseDelay": 3, "timeout": 2, "startDelay": 1}},
            {"slug": "scan", "stepType": "map", "dependencies": ["list"], "whenUnmet": "fail", "whenExhausted": "skip",
             "requiredInputPattern": {"defined": true, "value": {"x": 1}},
             "forbiddenInputPattern": {"defined": true, "value": {"y": 1}}}]}');
select results_eq($$ select alias, queue_mode, opt_max_attempts, opt_base_delay, opt_timeout from pgflow.flows where flow_slug = 'whole' $$,
  $$ values ('all_parts'::text, 'step'::text, 2, 0, 5) $$, 'the flow is stored');
select results_eq(
  $$ select step_slug, step_type, step_index, deps_count, queue_name, opt_max_attempts, opt_base_delay, opt_timeout,
            opt_start_delay, required_input_pattern, forbidden_input_pattern, when_unmet, when_exhausted,
            wants_flow_input, contract
     from pgflow.steps where flow_slug = 'whole' order by step_index $$,
  $$ values
     ('list'::text, 'single'::text, 0, 0, 'whole__list'::text, 4, 3, 2, 1, null::jsonb, null::jsonb,
      'skip'::text, 'fail'::text, true, 'c1'::text),
     ('scan', 'map', 1, 1, 'whole__scan', null, null, null, null, '{"x": 1}', '{"y": 1}', 'fail', 'skip', false, null) $$,
  'so is every part of its steps');
select results_eq($$ select dep_slug, step_slug from pgflow.deps where flow_slug = 'whole' $$,
  $$ values ('list'::text, 'scan'::text) $$, 'and its dependencies');

-- Immutable
select is(
  pgflow.ensure_deployment(pgflow_test.deployment('t1', 'tt', 'flow', '{a,b<a}')),
  '{"compilation": "mismatch", "activation": "active", "alias": "t", "activeFlowSlug": "t1", "queueMode": "routed",
    "differences": ["alias: \"t\" in the database, \"tt\" in the deployment",
                    "queueMode: routed in the database, flow in the deployment",
                    "route of step \"a\": qa in the database, t1 in the deployment",
                    "route of step \"b\": qb in the database, t1 in the deployment"],
    "optionDrift": [],
    "hint": "A compiled version never changes: use a new concrete slug, or delete the flow in development."}',
  'alias, mode and routes are compared as strictly as the shape, and the remedy is named');
select is_empty($$ select from pgflow.queues where queue_name = 't1' $$, 'a mismatch makes no queue');
select is(
  pgflow.ensure_deployment(jsonb_set(pgflow_test.deployment('t2', 't', 'flow', '{a}'), '{steps,0,contract}', '"v2"')) -> 'differences',
  '["contract of step \"a\": none in the database, v2 in the deployment"]', 'so are contracts');
select is(
  pgflow.ensure_deployment(pgflow_test.deployment('t2', 't', 'flow', '{a,b<a}')) -> 'differences',
  '["step 1 \"b\" is in the deployment only"]', 'and the shape');

-- An alias without active version
delete from pgflow.flow_aliases where alias = 't';
select is(pgflow.ensure_deployment(pgflow_test.deployment('t2', 't', 'flow', '{b}')) ->> 'activation', 'inactive',
  'a mismatch activates nothing');
select is(pgflow.ensure_deployment(pgflow_test.deployment('t2', 't')) ->> 'activation', 'activated',
  'an alias without active version takes the next that is verified');
select is(pgflow.ensure_deployment(pgflow_test.deployment('t1', 't', 'routed', '{a,b<a}', '{"a": "qa", "b": "qb"}')) ->> 'activation',
  'inactive', 'and no second one');

select pgflow.retire_flow('plain');
select is(pgflow.ensure_deployment(pgflow_test.deployment('plain')) ->> 'activation', 'inactive',
  'a retired flow is verified and counts as inactive, although it is its own alias');
delete from pgflow.flow_aliases where alias = 'plain';
select is(pgflow.ensure_deployment(pgflow_test.deployment('plain')) -> 'activeFlowSlug', 'null',
  'a retired flow is never made active');

select ok(
  (select bool_and(later.created_at > earlier.created_at)
   from pgflow.flows earlier join pgflow.flows later on later.alias = earlier.alias and later.flow_slug = 't2'
   where earlier.flow_slug = 't1'),
  'a later version is created later');

select * from finish();
rollback;
