-- Events for existing clients, through realtime.send where it exists.
begin;
select plan(30);

select pgflow.create_flow('f', max_attempts => 1);
select pgflow.add_step('f', 'a');
select pgflow.add_step('f', 'each', '{a}', step_type => 'map');
select pgflow.add_step('f', 'gate', '{a}', required_input_pattern => '{"a": [1]}');
select pgflow.add_step('f', 'end', '{each,gate}');

-- without realtime.send nothing is sent and nothing is missed
select lives_ok($$select pgflow.start_flow('f', '1', pgflow_test.w(10))$$, 'without realtime.send a run starts');
select pgflow.cancel_run(pgflow_test.w(10), 'x');

create schema realtime;
create table realtime.sent (id int generated always as identity, payload jsonb, event text, topic text, private boolean);
create function realtime.send(payload jsonb, event text, topic text, private boolean default true) returns void language sql as $$
  insert into realtime.sent (payload, event, topic, private) values ($1, $2, $3, $4)
$$;
create function pg_temp.events() returns text[] language plpgsql as $$
declare names text[] := (select array_agg(event order by id) from realtime.sent);
begin
  truncate realtime.sent;
  return names;
end $$;

-- a start
select pgflow.start_flow('f', '{"x": 1}', pgflow_test.w(11));
select results_eq('select distinct topic, private from realtime.sent', $$values ('pgflow:run:10000000-0000-4000-8000-000000000011', false)$$, 'the topic is that of the run');
select is((select payload - 'started_at' from realtime.sent where event = 'run:started'),
  '{"event_type": "run:started", "run_id": "10000000-0000-4000-8000-000000000011", "flow_slug": "f", "status": "started", "input": {"x": 1}, "remaining_steps": 4}',
  'run:started tells the run');
select ok((select (payload ->> 'started_at')::timestamptz = (select started_at from pgflow.runs where run_id = pgflow_test.w(11)) from realtime.sent where event = 'run:started'), 'and since when');
select is((select payload - 'started_at' from realtime.sent where event = 'step:a:started'),
  '{"event_type": "step:started", "run_id": "10000000-0000-4000-8000-000000000011", "flow_slug": "f", "step_slug": "a", "status": "started", "remaining_tasks": 1, "remaining_deps": 0}',
  'step:started tells the step');
select is(pg_temp.events(), '{run:started,step:a:started}', 'a start sends these two, in this order');

-- a completion with everything that follows
select pgflow_test.claim('f');
select is(pg_temp.events(), null, 'a claim sends nothing');
select pgflow_test.report('a', 'completed', '[1, 2]', run_id => pgflow_test.w(11));
select is((select payload - 'completed_at' from realtime.sent where event = 'step:a:completed'),
  '{"event_type": "step:completed", "run_id": "10000000-0000-4000-8000-000000000011", "flow_slug": "f", "step_slug": "a", "status": "completed", "output": [1, 2]}',
  'step:completed carries the output');
select bag_eq($$select unnest(pg_temp.events())$$, $$values ('step:a:completed'), ('step:each:started'), ('step:gate:started')$$, 'what started is told after it');
select pgflow_test.claim('f');
select pgflow_test.report('each', 'completed', '5', 0, pgflow_test.w(11));
select is(pg_temp.events(), null, 'an element of a map that goes on sends nothing');
select is(pgflow_test.report('a', 'completed', '1', run_id => pgflow_test.w(11)), 'again', 'a late result');
select is(pg_temp.events(), null, 'sends nothing');
select results_eq($$select f.outcome from pgflow.finish_tasks(pgflow_test.w(1), array_fill(pgflow_test.w(11), '{2}'), '{each,gate}', '{1,0}', '{1,1}', '{completed,completed}', '{"6","7"}', null) f$$,
  $$values ('completed'), ('completed')$$, 'the rest completes');
select pgflow_test.work('f', '{"done": true}');
select is(pg_temp.events(), '{step:gate:completed,step:each:completed,step:end:started,step:end:completed,run:completed}', 'up to the end of the run');

-- skips, an empty map, a run over at once
select pgflow.create_flow('s');
select pgflow.add_step('s', 'gate', required_input_pattern => '{"go": true}', when_unmet => 'skip-cascade');
select pgflow.add_step('s', 'fallen', '{gate}');
select pgflow.start_flow('s', '{}', pgflow_test.w(12));
select is((select payload - 'skipped_at' from realtime.sent where event = 'step:gate:skipped'),
  '{"event_type": "step:skipped", "run_id": "10000000-0000-4000-8000-000000000012", "flow_slug": "s", "step_slug": "gate", "status": "skipped", "skip_reason": "condition_unmet", "error_message": null}',
  'step:skipped gives the reason');
select is((select payload - 'completed_at' from realtime.sent where event = 'run:completed'),
  '{"event_type": "run:completed", "run_id": "10000000-0000-4000-8000-000000000012", "flow_slug": "s", "status": "completed", "output": {}}', 'run:completed the output');
select is(pg_temp.events(), '{run:started,step:gate:skipped,step:fallen:skipped,run:completed}', 'a run that is over at once tells all of it');

-- failures
select pgflow.start_flow('f', '1', pgflow_test.w(13));
select pg_temp.events();
select pgflow_test.claim('f');
select pgflow_test.report('a', 'failed', 'boom', run_id => pgflow_test.w(13));
select is((select payload - 'failed_at' from realtime.sent where event = 'step:a:failed'),
  '{"event_type": "step:failed", "run_id": "10000000-0000-4000-8000-000000000013", "flow_slug": "f", "step_slug": "a", "status": "failed", "error_message": "boom"}', 'step:failed gives the error');
select is((select payload - 'failed_at' from realtime.sent where event = 'run:failed'),
  '{"event_type": "run:failed", "run_id": "10000000-0000-4000-8000-000000000013", "flow_slug": "f", "status": "failed", "error_message": "boom"}', 'run:failed too');
select is(pg_temp.events(), '{step:a:failed,run:failed}', 'a failure sends these two');

-- cancellation
select pgflow.start_flow('f', '1', pgflow_test.w(14));
select pg_temp.events();
select pgflow.cancel_run(pgflow_test.w(14), 'wrong input');
select is((select payload ->> 'error_message' || ' ' || (payload ->> 'status') from realtime.sent where event = 'run:failed'), '[CANCELLED] wrong input failed', 'a cancelled run is told as failed, with the reason');
select is(pg_temp.events(), '{step:a:failed,run:failed}', 'after its step');

-- a sender that raises takes no result with it
create or replace function realtime.send(payload jsonb, event text, topic text, private boolean default true) returns void language plpgsql as $$ begin raise exception 'no partition'; end $$;
set local client_min_messages = error;
select is((select status from pgflow.start_flow('f', '1', pgflow_test.w(15))), 'started', 'a broken sender stops no run');

create or replace function realtime.send(payload jsonb, event text, topic text, private boolean default true) returns void language sql as $$
  insert into realtime.sent (payload, event, topic, private) values ($1, $2, $3, $4)
$$;

-- a map without elements: its only event has what step:started would have told
truncate realtime.sent;
select pgflow.create_flow('empty');
select pgflow.add_step('empty', 'each', step_type => 'map');
select pgflow.start_flow('empty', '[]', pgflow_test.w(31));
select is((select payload - 'started_at' - 'completed_at' - 'run_id' from realtime.sent where event = 'step:each:completed'),
  '{"event_type": "step:completed", "flow_slug": "empty", "step_slug": "each", "status": "completed", "output": [], "remaining_tasks": 0, "remaining_deps": 0}',
  'an empty map tells what is left of it');
select ok((select payload ? 'started_at' from realtime.sent where event = 'step:each:completed'), 'and when it started');

-- a site's own hook, beside realtime and without it
create table pg_temp.told (event text, topic text);
grant all on pg_temp.told to public;
create or replace function pgflow.emit_event(payload jsonb, event text, topic text, private boolean) returns void language sql as $$
  insert into pg_temp.told values (event, topic) $$;
select pgflow.create_flow('h');
select pgflow.add_step('h', 'a');
select pgflow.start_flow('h', '{}', pgflow_test.w(32));
select results_eq('select * from told', $$values ('run:started', 'pgflow:run:10000000-0000-4000-8000-000000000032'), ('step:a:started', 'pgflow:run:10000000-0000-4000-8000-000000000032')$$, 'a hook hears what realtime hears');
drop schema realtime cascade;
select pgflow.cancel_run(pgflow_test.w(32), 'x');
select is((select count(*) from told where event = 'run:failed'), 1::bigint, 'without realtime too; a cancelled run is told as failed');
create or replace function pgflow.emit_event(payload jsonb, event text, topic text, private boolean) returns void language plpgsql as $$ begin raise 'no'; end $$;
set local client_min_messages = error;
select lives_ok($$select pgflow.start_flow('h', '{}', pgflow_test.w(33))$$, 'a hook that raises takes no start with it');
reset client_min_messages;
select is(pgflow.get_run_with_states(pgflow_test.w(32)) -> 'run' ->> 'status', 'failed', 'a client that reads a cancelled run sees an end that it knows');
select is(pgflow.get_run_with_states(pgflow_test.w(32)) -> 'run' ->> 'cancelled', 'true', 'and what it was');

select * from finish();
rollback;
