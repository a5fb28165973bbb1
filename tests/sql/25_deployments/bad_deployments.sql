-- Deployments that are refused, each by its message.
begin;
select plan(42);

-- $1: the steps and other members; refused with exactly this first problem.
create function pg_temp.refused(members jsonb, problem text, description text)
returns text
language sql
as $$
  select throws_ok(
    format('select pgflow.ensure_deployment(%L)', jsonb '{"flowSlug": "f", "steps": [{"slug": "a"}]}' || members),
    '22023',
    format('deployment of flow "%s" is not valid: %s',
           coalesce((jsonb '{"flowSlug": "f"}' || members) ->> 'flowSlug', '(none)'), problem),
    description)
$$;

-- JSON
select throws_ok($$ select pgflow.ensure_deployment('[]') $$, '22023', null, 'refuses what is no object');
select throws_ok($$ select pgflow.ensure_deployment(null) $$, '22023', null, 'refuses null');
select pg_temp.refused('{"flowSlug": 7}', 'flowSlug must be string, not number', 'refuses a slug that is no text');
select pg_temp.refused('{"alias": []}', 'alias must be string or null, not array', 'refuses an alias that is no text');
select pg_temp.refused('{"queueMode": 1}', 'queueMode must be string or null, not number', 'refuses a mode that is no text');
select pg_temp.refused('{"routes": []}', 'routes must be object or null, not array', 'refuses routes that are no object');
select pg_temp.refused('{"options": 3}', 'options must be object or null, not number', 'refuses options that are no object');
select pg_temp.refused('{"steps": {}}', 'steps must be array, not object', 'refuses steps that are no array');
select pg_temp.refused('{"steps": ["a"]}', 'steps[0] must be object, not string', 'refuses a step that is no object');
select pg_temp.refused('{"steps": [{"slug": "a"}, {}]}', 'steps[1].slug must be string, not absent', 'refuses a step without slug');
select pg_temp.refused('{"steps": [{"slug": "a", "dependencies": [1]}]}',
  'steps[0].dependencies[0] must be string, not number', 'refuses a dependency that is no text');
select pg_temp.refused('{"steps": [{"slug": "a", "requiredInputPattern": {"value": {}}}]}',
  'steps[0].requiredInputPattern.defined must be boolean, not absent', 'refuses a pattern that does not say whether it is defined');
select pg_temp.refused('{"steps": [{"slug": "a", "forbiddenInputPattern": {"defined": true, "value": 1}}]}',
  'steps[0].forbiddenInputPattern.value must be object, not number', 'refuses a pattern that is no object');
select pg_temp.refused('{"steps": [{"slug": "a", "wantsFlowInput": "yes"}]}',
  'steps[0].wantsFlowInput must be boolean or null, not string', 'refuses a flag that is no boolean');
select pg_temp.refused('{"steps": [{"slug": "a", "contract": {}}]}',
  'steps[0].contract must be string or null, not object', 'refuses a contract that is no text');
select pg_temp.refused('{"queueMode": "routed", "routes": {"a": 5}}', 'routes.a must be string, not number',
  'refuses a route that is no text');

-- Options
select pg_temp.refused('{"options": {"maxAttempts": 1001}}',
  'maxAttempts of the flow is 1001: it must be a whole number from 0 to 1000', 'refuses too many attempts');
select pg_temp.refused('{"options": {"timeout": 1.5}}',
  'timeout of the flow is 1.5: it must be a whole number from 1 to 604800', 'refuses half a second');
select pg_temp.refused('{"options": {"baseDelay": "5"}}',
  'baseDelay of the flow is "5": it must be a whole number from 0 to 86400', 'refuses a number as text');
select pg_temp.refused('{"steps": [{"slug": "a", "options": {"startDelay": 1e99}}]}',
  'startDelay of step "a" is 1' || repeat('0', 99) || ': it must be a whole number from 0 to 31536000',
  'refuses a number beyond all bounds');
select lives_ok(
  $$ select pgflow.ensure_deployment('{"flowSlug": "ok", "steps": [{"slug": "a", "options": {"timeout": 6e1, "maxAttempts": null}}]}') $$,
  'a whole number may be written with an exponent, and null inherits');

-- Names and words
select pg_temp.refused('{"flowSlug": "9f"}',
  'flowSlug "9f" is not valid: use 1 to 128 letters, digits and _, not starting with a digit; "run" is reserved',
  'refuses a flow slug that is not valid');
select pg_temp.refused('{"alias": "run"}',
  'alias "run" is not valid: use 1 to 128 letters, digits and _, not starting with a digit; "run" is reserved',
  'refuses a reserved alias');
select pg_temp.refused('{"alias": "trailing_"}',
  'alias "trailing_" is not valid: no _ at its start or end and no __, because private queues are named flow__step',
  'refuses a trailing _');
select pg_temp.refused('{"flowSlug": "_f"}',
  'flowSlug "_f" is not valid: no _ at its start or end and no __, because private queues are named flow__step',
  'refuses a leading _');
select pg_temp.refused('{"steps": [{"slug": "a__b"}]}',
  'step slug "a__b" is not valid: no _ at its start or end and no __, because private queues are named flow__step',
  'refuses __ inside');
select pg_temp.refused('{"steps": [{"slug": "Same"}, {"slug": "same"}]}',
  'step slug "Same" is used 2 times (ignoring case)', 'refuses step slugs that differ by case only');
select pg_temp.refused('{"queueMode": "private"}', 'queueMode is "private": it must be flow, step, routed', 'refuses an unknown mode');
select pg_temp.refused('{"steps": [{"slug": "a", "stepType": "loop"}]}',
  'stepType of step "a" is "loop": it must be single, map', 'refuses an unknown type');
select pg_temp.refused('{"steps": [{"slug": "a", "whenUnmet": "retry"}]}',
  'whenUnmet of step "a" is "retry": it must be fail, skip, skip-cascade', 'refuses an unknown mode of a condition');
select pg_temp.refused('{"steps": []}', 'the flow has 0 steps: a deployment has 1 to 1000', 'refuses a flow without steps');
select pg_temp.refused(
  (select jsonb_build_object('steps', jsonb_agg(jsonb_build_object('slug', 's' || n))) from generate_series(1, 1001) n),
  'the flow has 1001 steps: a deployment has 1 to 1000', 'refuses 1001 steps');

-- Graph
select pg_temp.refused('{"steps": [{"slug": "a", "dependencies": ["b"]}, {"slug": "b"}]}',
  'step "a" depends on "b", which is not an earlier step', 'refuses a dependency on a later step');
select pg_temp.refused('{"steps": [{"slug": "a", "dependencies": ["a"]}]}',
  'step "a" depends on "a", which is not an earlier step', 'refuses a dependency on itself');
select pg_temp.refused('{"steps": [{"slug": "a"}, {"slug": "b", "dependencies": ["a", "a"]}]}',
  'step "b" names dependency "a" 2 times', 'refuses a dependency twice');
select pg_temp.refused('{"steps": [{"slug": "a"}, {"slug": "b"}, {"slug": "m", "stepType": "map", "dependencies": ["a", "b"]}]}',
  'map step "m" has 2 dependencies: it maps the array of at most one', 'refuses a map of two dependencies');
select pg_temp.refused('{"steps": [{"slug": "m", "stepType": "map", "wantsFlowInput": true}]}',
  'root map step "m" wants the flow input, which its elements already are', 'refuses a root map that wants the flow input');

-- Routes
select pg_temp.refused('{"queueMode": "routed"}',
  'step "a" has no route: in queue mode routed every step names a queue', 'refuses a routed step without route');
select pg_temp.refused('{"queueMode": "routed", "routes": {"a": "q", "b": "q"}}',
  'the routes name step "b", which the flow does not have', 'refuses the route of an unknown step');
select pg_temp.refused('{"routes": {"a": "q"}}',
  'step "a" is routed to queue "q", but queue mode flow puts it on "f"', 'refuses a route that contradicts the mode');
select pg_temp.refused(jsonb_build_object('queueMode', 'routed', 'routes', jsonb_build_object('a', repeat('q', 48))),
  'queue name "' || repeat('q', 48) || '" of step "a" has 48 bytes: the limit is 47', 'refuses a long queue name, with the limit');
select pg_temp.refused('{"queueMode": "routed", "routes": {"a": "no space"}}',
  'queue name "no space" of step "a" is not valid: use letters, digits, _ and single hyphens between them',
  'refuses a queue name that PGMQ would not take');

select * from finish();
rollback;
