-- _get_flow_shape, _compare_flow_shapes, _create_flow_from_shape.
begin;
select plan(19);

create temporary table shape as select jsonb '{"steps": [
  {"slug": "list", "stepType": "single", "dependencies": [], "whenUnmet": "skip", "whenExhausted": "fail",
   "requiredInputPattern": {"defined": true, "value": {"kind": "full"}}, "forbiddenInputPattern": {"defined": false}},
  {"slug": "other", "stepType": "single", "dependencies": [], "whenUnmet": "fail", "whenExhausted": "skip-cascade",
   "requiredInputPattern": {"defined": false}, "forbiddenInputPattern": {"defined": true, "value": {}}},
  {"slug": "scan", "stepType": "map", "dependencies": ["list"], "whenUnmet": "skip", "whenExhausted": "fail",
   "requiredInputPattern": {"defined": false}, "forbiddenInputPattern": {"defined": false}},
  {"slug": "sum", "stepType": "single", "dependencies": ["other", "scan"], "whenUnmet": "skip", "whenExhausted": "skip",
   "requiredInputPattern": {"defined": false}, "forbiddenInputPattern": {"defined": false}}]}' as s;

select pgflow._create_flow_from_shape('made', s || '{"options": {"maxAttempts": 9}}') from shape;
select is(pgflow._get_flow_shape('made'), s, 'the shape that was compiled is the shape that is stored') from shape;
select is((select opt_max_attempts from pgflow.flows), 9, 'options of the shape are stored');
select is((select active_flow_slug from pgflow.flow_aliases where alias = 'made'), 'made', 'it is its own active alias');
select is(pgflow._get_flow_shape('unknown'), '{"steps": []}', 'a flow that does not exist has no steps');
select throws_ok($$ select pgflow._create_flow_from_shape('MADE', '{"steps": []}') $$, '42710', null,
  'refuses a name that is taken');

select is(pgflow._compare_flow_shapes(s, s), '{}', 'a shape is like itself') from shape;
create function pg_temp.with_pattern(pattern jsonb) returns jsonb language sql
as $$ select jsonb_build_object('steps', jsonb_build_array(jsonb_build_object('slug', 'a', 'dependencies', '[]'::jsonb, 'requiredInputPattern', jsonb_build_object('defined', true, 'value', pattern)))) $$;
select is(pgflow._compare_flow_shapes(pg_temp.with_pattern('{"n": 1.0}'), pg_temp.with_pattern('{"n": 1}')), '{}', 'patterns are compared as jsonb: 1.0 is 1');
select is(cardinality(pgflow._compare_flow_shapes(pg_temp.with_pattern('{"n": 9007199254740993}'), pg_temp.with_pattern('{"n": 9007199254740992}'))), 1, 'and every digit counts');
select is(
  pgflow._compare_flow_shapes('{"steps": [{"slug": "a", "dependencies": []}]}', '{"steps": [{"slug": "a"}]}'), '{}',
  'what is missing has its default');
select is(
  pgflow._compare_flow_shapes(jsonb_set(s, '{steps,3,dependencies}', '["scan", "other"]'), s), '{}',
  'dependencies are a set') from shape;
select is(
  pgflow._compare_flow_shapes(jsonb_set(s, '{options}', '{"timeout": 1}'), s), '{}', 'options are not compared') from shape;
select is(
  pgflow._compare_flow_shapes(s #- '{steps,3}', s), '{"step 3 \"sum\" is in the database only"}',
  'names a step that the deployment lost') from shape;
select is(
  pgflow._compare_flow_shapes(s, s #- '{steps,3}'), '{"step 3 \"sum\" is in the deployment only"}',
  'names a step that is new') from shape;
select is(
  pgflow._compare_flow_shapes(jsonb_set(s, '{steps,0,slug}', '"lost"'), s),
  '{"step 0: \"list\" in the database, \"lost\" in the deployment"}',
  'names both slugs of a position') from shape;
select is(
  pgflow._compare_flow_shapes(jsonb_set(s, '{steps,2,stepType}', '"single"'), s),
  '{"type of step \"scan\": map in the database, single in the deployment"}', 'names both types') from shape;
select is(
  pgflow._compare_flow_shapes(jsonb_set(s, '{steps,3,dependencies}', '["scan"]'), s),
  '{"dependencies of step \"sum\": [other, scan] in the database, [scan] in the deployment"}',
  'names both lists of dependencies') from shape;
select is(
  pgflow._compare_flow_shapes(
    jsonb_set(jsonb_set(s, '{steps,1,whenUnmet}', '"skip"'), '{steps,1,whenExhausted}', '"fail"'), s),
  array['whenUnmet of step "other": fail in the database, skip in the deployment',
        'whenExhausted of step "other": skip-cascade in the database, fail in the deployment'],
  'names both condition modes') from shape;
select is(
  pgflow._compare_flow_shapes(jsonb_set(s, '{steps,0,requiredInputPattern}', '{"defined": true, "value": {"kind": "x"}}'), s),
  array['requiredInputPattern of step "list": {"kind": "full"} in the database, {"kind": "x"} in the deployment'],
  'shows both patterns') from shape;
select is(
  pgflow._compare_flow_shapes(jsonb_set(s, '{steps,1,forbiddenInputPattern}', '{"defined": false}'), s),
  array['forbiddenInputPattern of step "other": {} in the database, none in the deployment'],
  'an empty pattern is not the same as none') from shape;

select * from finish();
rollback;
