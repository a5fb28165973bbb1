-- The inputs that a claim gives.
begin;
select plan(19);
select pgflow.create_flow('f');
select pgflow.add_step('f', 'root');
select pgflow.add_step('f', 'other_root');
select pgflow.add_step('f', 'skipped', required_input_pattern => '{"never": true}');
select pgflow.add_step('f', 'both', '{root,other_root,skipped}');
select pgflow.add_step('f', 'wants', '{root}');
select pgflow.add_step('f', 'each', '{root}', step_type => 'map');
select pgflow.add_step('f', 'each_wants', '{root}', step_type => 'map');
update pgflow.steps set wants_flow_input = true where step_slug in ('wants', 'each_wants');
select pgflow.register_worker(pgflow_test.w(1), 'f', 'fn',
  pgflow_test.pairs('f/root', 'f/other_root', 'f/skipped', 'f/both', 'f/wants', 'f/each', 'f/each_wants'));
create function pg_temp.claim() returns setof pgflow.claim_row language sql as
  $$ select * from pgflow.read_and_claim_tasks('f', 100, 5, pgflow_test.w(1)) $$;
create function pg_temp.finish(step text, output text) returns void language sql as $$
  select pgflow.finish_tasks(pgflow_test.w(1), array_agg(run_id), array_agg(step_slug), array_agg(task_index), array_agg(claim_no),
    array_agg('completed'::text), array_agg($2), array_agg(null::text))
  from pgflow.step_tasks where step_slug = $1 and status = 'started' $$;

-- root steps, several runs in one batch
select pgflow.start_flow('f', '{"n": 9007199254740993}', pgflow_test.w(101)), pgflow.start_flow('f', 'null', pgflow_test.w(102));
create temp table roots as select row_number() over () as place, * from pg_temp.claim();
select is((select count(*) from roots where outcome = 'started' and input = '{}'), 4::bigint, 'a root step''s input is {}');
select results_eq($$select run_id, count(flow_input) from roots group by 1 order by 1$$,
  $$values (pgflow_test.w(101), 1::bigint), (pgflow_test.w(102), 1)$$, 'flow_input comes once a run');
select is((select array_agg(place) from roots r where flow_input is not null),
  (select array_agg(first) from (select min(place) as first from roots group by run_id order by 1) s), 'on the run''s first row');
select is((select flow_input::text from roots where run_id = pgflow_test.w(101) and flow_input is not null), '{"n": 9007199254740993}',
  'integers beyond 2^53 pass unchanged');
select is((select flow_input from roots where run_id = pgflow_test.w(102) and flow_input is not null), 'null'::jsonb, 'a JSON null is an input');

-- dependents
select pgflow.cancel_run(pgflow_test.w(102));
select pg_temp.finish('other_root', 'null');
select pg_temp.finish('root', '[10, null, {"a": [1]}]');
create temp table dependents as select * from pg_temp.claim();
select is((select input from dependents where step_slug = 'both'), '{"root": [10, null, {"a": [1]}], "other_root": null}'::jsonb,
  'a dependent step gets its completed dependencies by name; skipped ones are absent, a null output is there');
select is((select input from dependents where step_slug = 'wants'), '{"root": [10, null, {"a": [1]}]}'::jsonb, 'its own only');
select is((select count(flow_input) from dependents), 1::bigint, 'flow_input once, for all steps that want it');
select is((select flow_input from dependents where step_slug in ('wants', 'each_wants') order by flow_input limit 1), '{"n": 9007199254740993}'::jsonb, 'on a row that does');
select results_eq($$select task_index, input from dependents where step_slug = 'each' order by 1$$,
  $$values (0, '10'::jsonb), (1, 'null'), (2, '{"a": [1]}')$$, 'a map task gets the bare element');
select is((select count(*) from dependents where step_slug = 'each_wants' and outcome = 'started'), 3::bigint, 'also the map that wants flow_input');
select is((select count(*) from dependents where step_slug in ('each', 'both') and flow_input is not null), 0::bigint, 'who does not want it gets none');

-- a retry sees the same input
select pgflow.finish_tasks(pgflow_test.w(1), array_agg(run_id), array_agg(step_slug), array_agg(task_index), array_agg(claim_no),
  array_agg('failed'::text), array_agg(null::text), array_agg('again, please'::text), array_agg(0))
from pgflow.step_tasks where step_slug = 'wants' and status = 'started';
select results_eq($$select attempt, claim_no, input, flow_input from pg_temp.claim()$$,
  $$values (2, 2, '{"root": [10, null, {"a": [1]}]}'::jsonb, '{"n": 9007199254740993}'::jsonb)$$, 'a retry gets its input again');

-- an input that cannot be built costs its own task only
select pgflow.create_flow('big'), pgflow.add_step('big', 'l'), pgflow.add_step('big', 'r'), pgflow.add_step('big', 'sum', '{l,r}');
select pgflow.start_flow('big', '{}', pgflow_test.w(201)), pgflow.start_flow('big', '{"small": true}', pgflow_test.w(202));
select pgflow.register_worker(pgflow_test.w(2), 'big', 'bn', pgflow_test.pairs('big/l', 'big/r', 'big/sum'));
select count(*) from pgflow.read_and_claim_tasks('big', 100, 5, pgflow_test.w(2));
select pgflow.finish_tasks(pgflow_test.w(2), array_agg(run_id), array_agg(step_slug), array_agg(task_index), array_agg(claim_no),
  array_agg('completed'::text), array_agg('1'::text), array_agg(null::text))
from pgflow.step_tasks where flow_slug = 'big' and status = 'started';
-- Put in place directly: the road of 300 MB through finish_tasks is not what this is about.
alter table pgflow.step_states alter column output set storage external;
update pgflow.step_states set output = to_jsonb(repeat(repeat('x', 10000), 15000))
where run_id = pgflow_test.w(201) and step_slug in ('l', 'r');
create temp table sums as select * from pgflow.read_and_claim_tasks('big', 100, 5, pgflow_test.w(2));
select results_eq($$select outcome, input is null, attempt, claim_no from sums where run_id = pgflow_test.w(201)$$,
  $$values ('started', true, 1, 1)$$, 'two outputs of 150 MB do not fit one jsonb: the task comes without input');
select matches((select input_error from sums where run_id = pgflow_test.w(201)), '^the input cannot be built: total size of jsonb object elements exceeds',
  'and with the reason');
select results_eq($$select outcome, input, input_error from sums where run_id = pgflow_test.w(202)$$,
  $$values ('started', '{"l": 1, "r": 1}'::jsonb, null::text)$$, 'its neighbour is as ever');
select results_eq($$select outcome from pgflow.finish_tasks(pgflow_test.w(2), array[pgflow_test.w(201)], '{sum}', '{0}', '{1}', '{permanent}', '{null}', '{no input}')$$,
  $$values ('failed')$$, 'it can be failed like any other');

-- one that would not fit the protocol as text
select pgflow.create_flow('wide'), pgflow.add_step('wide', 'l'), pgflow.add_step('wide', 'r', '{l}');
select pgflow.start_flow('wide', '{}', pgflow_test.w(301));
select pgflow.register_worker(pgflow_test.w(3), 'wide', 'wn', pgflow_test.pairs('wide/l', 'wide/r'));
select count(*) from pgflow.read_and_claim_tasks('wide', 100, 5, pgflow_test.w(3));
update pgflow.step_states set output = to_jsonb(repeat(repeat(chr(1), 10000), 5000)) , status = 'completed', remaining_tasks = 0, completed_at = clock_timestamp() where run_id = pgflow_test.w(301) and step_slug = 'l';
update pgflow.step_states set status = 'started', started_at = clock_timestamp(), remaining_deps = 0, remaining_tasks = 1, initial_tasks = 1 where run_id = pgflow_test.w(301) and step_slug = 'r';
insert into pgflow.step_tasks (flow_slug, run_id, step_slug, queue_name, message_id)
values ('wide', pgflow_test.w(301), 'r', 'wide', (select pgmq.send('wide', '{}')));
create temp table wide as select * from pgflow.read_and_claim_tasks('wide', 100, 5, pgflow_test.w(3));
select results_eq('select outcome, input is null from wide', $$values ('started', true)$$, 'an input of 300 MB as text is not sent');
select matches((select input_error from wide), 'the input is 30000\d+ bytes long, the limit is 268435456', 'its size and the limit are named');

select * from finish();
rollback;
