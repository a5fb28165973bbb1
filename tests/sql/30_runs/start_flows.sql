begin;
select plan(13);

select pgflow_test.chain('batch', '{a,b}');

-- ids in the order of the inputs
create temp table started as
select s.id, s.place from pgflow.start_flows('batch', array['{"n": 1}', '{"n": 2}', '{"n": 3}']::jsonb[]) with ordinality as s (id, place);
select results_eq('select r.input from started s join pgflow.runs r on r.run_id = s.id order by s.place',
  $$values ('{"n": 1}'::jsonb), ('{"n": 2}'), ('{"n": 3}')$$, 'ids come in the order of the inputs');
select is((select count(*) from pgflow.step_states), 6::bigint, 'every run has its states');
select results_eq('select t.run_id from pgflow.step_tasks t order by t.message_id', 'select id from started order by place',
  'messages are sent in the order of the inputs');
select is_empty('select * from pgflow_test.violations()', 'nothing is broken');

-- all or none
select throws_ok($$select pgflow.start_flows('batch', array['1', null, '3']::jsonb[])$$, '22004', 'input 2 of flow "batch" is null',
  'one bad input is named by its number');
select is((select count(*) from pgflow.runs), 3::bigint, 'and none is started');

-- a root map wants arrays
select pgflow.create_flow('each');
select pgflow.add_step('each', 'item', step_type => 'map');
select throws_ok($$select pgflow.start_flows('each', array['[1]', '{"a": 1}']::jsonb[])$$, '22023',
  'input 2 of flow "each" is of type object, and its map step "item" needs an array', 'a root map refuses what is no array');
select is((select count(*) from pgflow.runs where flow_slug = 'each'), 0::bigint, 'and nothing is written');
select throws_ok($$select pgflow.start_flow('each', '"x"')$$, '22023', null, 'start_flow refuses it too');
select is((select count(*) from pgflow.start_flows('each', array['[1]', '[]', '[1, 2]']::jsonb[])), 3::bigint, 'arrays of any length are fine');
select results_eq($$select r.input, count(t.*) from pgflow.runs r left join pgflow.step_tasks t on t.run_id = r.run_id
                    where r.flow_slug = 'each' group by r.run_id order by jsonb_array_length(r.input)$$,
  $$values ('[]'::jsonb, 0::bigint), ('[1]', 1), ('[1, 2]', 2)$$, 'each has a task per element');

-- nothing to start
select is_empty($$select pgflow.start_flows('batch', '{}')$$, 'no inputs start nothing');
select is_empty($$select pgflow.start_flows('batch', null)$$, 'null starts nothing');

select * from finish();
rollback;
