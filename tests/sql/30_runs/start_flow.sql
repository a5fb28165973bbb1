begin;
select plan(38);

select pgflow_test.chain('greet', '{hello,world}');

-- a run and everything of it
select is((select status from pgflow.start_flow('greet', '{"name": "ann"}')), 'started', 'a start returns the run');
select is((select input from pgflow.runs), '{"name": "ann"}', 'with its input');
select is((select remaining_steps from pgflow.runs), 2, 'and all of its steps open');
select results_eq('select step_slug, status, remaining_deps, initial_tasks, remaining_tasks from pgflow.step_states order by 1',
  $$values ('hello', 'started', 0, 1, 1), ('world', 'created', 1, 1, null)$$, 'the first step is started, the second waits');
select results_eq('select step_slug, task_index, queue_name, status, attempts_count, claim_no, claimed_exact, input from pgflow.step_tasks',
  $$values ('hello', 0, 'greet', 'queued', 0, 0, false, null::jsonb)$$, 'the started step has its task, without an input of its own');
select results_eq('select m.message from pgflow.step_tasks t cross join pgflow_test.message(t.queue_name, t.message_id) m',
  $$select jsonb_build_object('flow_slug', 'greet', 'run_id', run_id, 'step_slug', 'hello', 'task_index', 0) from pgflow.runs$$,
  'and its message names the task');
select is_empty('select * from pgflow_test.violations()', 'nothing is broken');

-- run ids
select is((select run_id from pgflow.start_flow('greet', '1', '20000000-0000-4000-8000-000000000001')),
  '20000000-0000-4000-8000-000000000001', 'the caller may give the run id');
select throws_ok($$select pgflow.start_flow('greet', '1', '20000000-0000-4000-8000-000000000001')$$, '23505',
  'run 20000000-0000-4000-8000-000000000001 exists already', 'a repeated one is an error');
select is((select count(*) from pgflow.runs), 2::bigint, 'that changed nothing');
select is(substr(run_id::text, 15, 1), '7', 'ids made here are ordered by time') from pgflow.start_flow('greet', 'null');

-- any JSON value is an input; none is not
select is((select input from pgflow.runs order by started_at desc limit 1), 'null', 'the JSON null is an input');
select throws_ok($$select pgflow.start_flow('greet', null)$$, '22004', 'input 1 of flow "greet" is null', 'SQL null is none');
select is((select input #>> '{n}' from pgflow.start_flow('greet', '{"n": 9007199254740993}')), '9007199254740993',
  'integers beyond 2^53 are kept');

-- names
select throws_ok($$select pgflow.start_flow('nope', '1')$$, '42704', 'there is no flow and no alias "nope"', 'an unknown name is refused');
select throws_ok($$select pgflow.start_flow('Greet', '1')$$, '42704', 'there is no flow and no alias "Greet"', 'case counts');
select throws_ok($$select pgflow.start_flow(null, '1')$$, '42704', null, 'null is no name');

-- an alias goes to its active version
select pgflow.ensure_deployment(pgflow_test.deployment('triage_v1', 'triage'));
select pgflow.ensure_deployment(pgflow_test.deployment('triage_v2', 'triage'));
select is((select flow_slug from pgflow.start_flow('triage', '1')), 'triage_v1', 'an alias starts its active version');
select is((select flow_slug from pgflow.start_flow('triage_v2', '1')), 'triage_v2', 'a concrete slug starts that version');
select pgflow.activate_flow('triage', 'triage_v2', true);
select is((select flow_slug from pgflow.start_flow('triage', '1')), 'triage_v2', 'after a switch the alias starts the other');

-- a retired flow takes no runs
update pgflow.flows set retired_at = clock_timestamp() where flow_slug = 'triage_v1';
select throws_ok($$select pgflow.start_flow('triage_v1', '1')$$, '55000', 'flow "triage_v1" is retired and takes no new runs',
  'a retired slug is refused by name');
select is((select flow_slug from pgflow.start_flow('triage', '1')), 'triage_v2', 'its alias goes on with the active version');
update pgflow.flows set retired_at = clock_timestamp() where flow_slug = 'triage_v2';
select throws_ok($$select pgflow.start_flow('triage', '1')$$, '55000',
  'alias "triage" points at flow "triage_v2", which is retired and takes no new runs', 'an alias that still points there is refused');

-- a flow without steps
select pgflow.create_flow('empty');
select results_eq($$select status, output, remaining_steps, completed_at = started_at from pgflow.start_flow('empty', '1')$$,
  $$values ('completed', '{}'::jsonb, 0, true)$$, 'a flow without steps is complete at once');

-- steps added later, as version 1 allowed, belong to later runs
insert into pgflow.steps (flow_slug, step_slug, step_index, deps_count, queue_name) values ('greet', 'again', 2, 1, 'greet');
insert into pgflow.deps (flow_slug, dep_slug, step_slug) values ('greet', 'world', 'again');
select is((select count(*) from pgflow.step_states where step_slug = 'again'), 0::bigint, 'a new step is not in older runs');
select is((select remaining_steps from pgflow.start_flow('greet', '1')), 3, 'and in newer ones');

-- start delay
select pgflow.create_flow('later');
select pgflow.add_step('later', 'a', start_delay => 300);
select pgflow.start_flow('later', '1');
select ok(vt between now() + interval '300 s' and clock_timestamp() + interval '300 s',
  'a start delay hides the message for that long')
from pgflow.step_tasks t cross join pgflow_test.message(t.queue_name, t.message_id) where t.flow_slug = 'later';

-- one start has a way of its own, without the engine's arrays: it leaves what a batch leaves
select pgflow.create_flow('wide');
select pgflow.add_step('wide', 'now', queue_name => 'wide_now'), pgflow.add_step('wide', 'soon', start_delay => 300, queue_name => 'wide_soon');
select pgflow.add_step('wide', 'too', queue_name => 'wide_now'), pgflow.add_step('wide', 'last', '{now,soon}', queue_name => 'wide_now');
select pgflow.start_flow('wide', '{"n": 1}', pgflow_test.w(1));
create temp table batch as select id from pgflow.start_flows('wide', '{"{\"n\": 1}", "{\"n\": 1}"}') id;
create function pg_temp.told(run uuid) returns setof text language sql as $$
  select concat_ws(' ', 'run', r.flow_slug, r.status, r.input, r.output, r.remaining_steps, r.completed_at)
  from pgflow.runs r where r.run_id = run
  union all
  select concat_ws(' ', 'step', s.step_slug, s.status, s.initial_tasks, s.remaining_tasks, s.remaining_deps, s.started_at = s.created_at)
  from pgflow.step_states s where s.run_id = run
  union all
  select concat_ws(' ', 'task', t.step_slug, t.task_index, t.queue_name, t.status, t.input, m.read_ct, m.message - 'run_id',
                   m.message ->> 'run_id' = run::text, round(extract(epoch from m.vt - t.queued_at) / 300))
  from pgflow.step_tasks t cross join pgflow_test.message(t.queue_name, t.message_id) m where t.run_id = run
$$;
select bag_eq('select pg_temp.told(pgflow_test.w(1))', format('select pg_temp.told(%L)', id), 'a single start leaves what one of a batch leaves')
from batch;
select results_eq($$select count(*), count(distinct queue_name) from pgflow.step_tasks where run_id = pgflow_test.w(1)$$,
  'values (3::bigint, 2::bigint)', 'every root step has its task, on its own queue');
select results_eq($$select step_slug from pgflow.step_tasks where run_id = pgflow_test.w(1) and queue_name = 'wide_now' order by message_id$$,
  $$values ('now'), ('too')$$, 'messages of one queue are sent in the order of the definition');
select is_empty('select * from pgflow_test.violations()', 'nothing is broken by either');

-- with states
create temp table answer as select pgflow.start_flow_with_states('greet', '7', '20000000-0000-4000-8000-000000000002') as shown;
select is((select shown from answer), pgflow.get_run_with_states('20000000-0000-4000-8000-000000000002'), 'a start can return run and states');
select is(pgflow.get_run_with_states('20000000-0000-4000-8000-000000000002') #>> '{run,input}', '7', 'the run is a whole row');
select is(jsonb_path_query_array(pgflow.get_run_with_states('20000000-0000-4000-8000-000000000002'), '$.steps[*].step_slug'),
  '["hello", "world", "again"]', 'the states come in the order of the definition');
select is(pgflow.get_run_with_states('20000000-0000-4000-8000-000000000002') -> 'steps' -> 0 ->> 'status', 'started',
  'and are whole rows');
select is(pgflow.get_run_with_states('20000000-0000-4000-8000-000000000003'), null, 'a run that is not there is null');
select is(pgflow.get_run_with_states((select run_id from pgflow.runs where flow_slug = 'empty')) -> 'steps', '[]',
  'a run without steps has an empty array of them');

select * from finish();
rollback;
