begin;
select plan(45);

-- A root step with one condition, and what follows it.
create function pg_temp.flow(slug text, mode text, required jsonb default null, forbidden jsonb default null) returns void
language plpgsql as $$
begin
  perform pgflow.create_flow(slug);
  perform pgflow.add_step(slug, 'gate', required_input_pattern => required, forbidden_input_pattern => forbidden, when_unmet => mode);
  perform pgflow.add_step(slug, 'next', '{gate}');
  perform pgflow.add_step(slug, 'last', '{next}');
  perform pgflow.add_step(slug, 'other');
end $$;
create function pg_temp.steps(slug text, input jsonb) returns text[] language plpgsql as $$
declare id uuid;
begin
  id := (select run_id from pgflow.start_flow(slug, input));
  return (select array_agg(s.step_slug || ':' || st.status order by s.step_index)
          from pgflow.step_states st join pgflow.steps s using (flow_slug, step_slug) where st.run_id = id);
end $$;

-- met and unmet, root
select pg_temp.flow('skip', 'skip', '{"plan": {"pro": true}}');
select is(pg_temp.steps('skip', '{"plan": {"pro": true, "x": 1}, "y": 2}'), '{gate:started,next:created,last:created,other:started}',
  'a required pattern that the input contains lets the step start');
select is(pg_temp.steps('skip', '{"plan": {"pro": false}}'), '{gate:skipped,next:started,last:created,other:started}',
  'one that it does not contain skips the step, and the next goes on');
select is(pg_temp.steps('skip', '{}'), '{gate:skipped,next:started,last:created,other:started}', 'so does a missing key');
select is(pg_temp.steps('skip', '[1]'), '{gate:skipped,next:started,last:created,other:started}', 'and an input that is no object');
select results_eq('select distinct skip_reason, error_message, remaining_tasks, output, skipped_at is not null from pgflow.step_states where status = $$skipped$$',
  $$values ('condition_unmet', null, null::int, null::jsonb, true)$$, 'the reason is kept');
select is((select count(*) from pgflow.step_tasks where step_slug = 'gate'), 1::bigint, 'a skipped step has no task');
select is_empty('select * from pgflow_test.violations()', 'nothing is broken');

-- what follows a skipped step
select results_eq('select distinct input from pgflow_test.claim($$skip$$) where step_slug = $$next$$', $$values ('{}'::jsonb)$$,
  'a skipped dependency is absent from the input');

-- cascade
select pg_temp.flow('cascade', 'skip-cascade', '{"go": true}');
select is(pg_temp.steps('cascade', '{"go": true}'), '{gate:started,next:created,last:created,other:started}', 'a met condition cascades nothing');
select is(pg_temp.steps('cascade', '{}'), '{gate:skipped,next:skipped,last:skipped,other:started}', 'an unmet one takes all downstream with it');
select results_eq('select step_slug, skip_reason from pgflow.step_states where flow_slug = $$cascade$$ and status = $$skipped$$ order by 1',
  $$values ('gate', 'condition_unmet'), ('last', 'dependency_skipped'), ('next', 'dependency_skipped')$$, 'each with its reason');
select is((select remaining_steps from pgflow.runs where flow_slug = 'cascade' order by started_at desc limit 1), 1, 'the run counts them all');

-- fail
select pg_temp.flow('fail', 'fail', '{"go": true}');
select is(pg_temp.steps('fail', '{"go": true}'), '{gate:started,next:created,last:created,other:started}', 'a met condition fails nothing');
select is(pg_temp.steps('fail', '{}'), '{gate:failed,next:created,last:created,other:created}', 'an unmet one fails its step; no other step starts');
select results_eq('select status, failed_at is not null, output from pgflow.runs where flow_slug = $$fail$$ order by started_at desc limit 1',
  $$values ('failed', true, null::jsonb)$$, 'and the run');
select is((select error_message from pgflow.step_states where status = 'failed'),
  '[CONDITION_UNMET] the input of step "gate" does not meet its required_input_pattern', 'the error says which');
select is((select count(*) from pgflow.step_tasks t join pgflow.runs r using (run_id) where r.status = 'failed'), 0::bigint, 'no task was made');
select is((select count(*) from pgflow_test.live_messages() where queue_name = 'fail'), 2::bigint, 'and no message sent for it');
select is_empty('select * from pgflow_test.violations()', 'nothing is broken');

-- forbidden
select pg_temp.flow('veto', 'skip', null, '{"dry": true}');
select is(pg_temp.steps('veto', '{"dry": true, "x": 1}'), '{gate:skipped,next:started,last:created,other:started}', 'a forbidden pattern that the input contains skips');
select is(pg_temp.steps('veto', '{"dry": false}'), '{gate:started,next:created,last:created,other:started}', 'one that it does not contain lets start');
select pg_temp.flow('both', 'fail', '{"a": 1}', '{"b": 1}');
select is(pg_temp.steps('both', '{"a": 1}'), '{gate:started,next:created,last:created,other:started}', 'with both, the required one must be there');
select is(pg_temp.steps('both', '{"a": 1, "b": 1}'), '{gate:failed,next:created,last:created,other:created}', 'and the forbidden one must not');
select is((select error_message from pgflow.step_states where flow_slug = 'both' and status = 'failed'),
  '[CONDITION_UNMET] the input of step "gate" does not meet its forbidden_input_pattern', 'the error names the forbidden one');
select pg_temp.flow('open', 'fail', '{}');
select is(pg_temp.steps('open', '{"x": 1}'), '{gate:started,next:created,last:created,other:started}', 'an empty required pattern is always met');
select pg_temp.flow('shut', 'skip', null, '{}');
select is(pg_temp.steps('shut', '{"x": 1}'), '{gate:skipped,next:started,last:created,other:started}', 'an empty forbidden one never');

-- A dependent step: each row is what dependencies gave, a pattern, and whether it is contained in the object of them.
create temp table sample (name text, a jsonb, b jsonb, pattern jsonb);
insert into sample values
  ('a key', '1', '2', '{"a": 1}'), ('two keys', '1', '2', '{"a": 1, "b": 2}'), ('a wrong value', '1', '2', '{"a": 2}'),
  ('no such dependency', '1', '2', '{"c": 1}'), ('nested', '{"x": [1, {"y": 2}], "z": 3}', '2', '{"a": {"x": [{"y": 2}]}}'),
  ('nested, not there', '{"x": [1, {"y": 2}]}', '2', '{"a": {"x": [{"y": 3}]}}'), ('an array in an array', '[1, 2, [3]]', '2', '{"a": [2]}'),
  ('a scalar in an array', '[1, 2]', '2', '{"a": 1}'), ('an array for a scalar', '1', '2', '{"a": [1]}'), ('null', 'null', '2', '{"a": null}'),
  ('null and false', 'false', '2', '{"a": null}'), ('nothing', '1', '2', '{}'), ('an empty object', '{"x": 1}', '2', '{"a": {}}'),
  ('an empty object for an array', '[]', '2', '{"a": {}}'), ('an empty array', '[1]', '[]', '{"a": [], "b": []}'), ('numbers of other spelling', '1.0', '2', '{"a": 1}');
create function pg_temp.dependent(name text, a jsonb, b jsonb, required jsonb, forbidden jsonb) returns boolean language plpgsql as $$
declare slug text := 'd_' || md5(row(name, required is null)::text); id uuid;
begin
  perform pgflow.create_flow(slug);
  perform pgflow.add_step(slug, 'a');
  perform pgflow.add_step(slug, 'b');
  perform pgflow.add_step(slug, 'gate', '{a,b}', required_input_pattern => required, forbidden_input_pattern => forbidden);
  id := (select run_id from pgflow.start_flow(slug, '1'));
  perform pgflow_test.claim(slug, 7);
  perform pgflow.finish_tasks(pgflow_test.w(7), array[id, id], '{a,b}', '{0,0}', '{1,1}', '{completed,completed}', array[a::text, b::text], null);
  return (select st.status = 'started' from pgflow.step_states st where st.run_id = id and st.step_slug = 'gate');
end $$;
select results_eq('select name, pg_temp.dependent(name, a, b, pattern, null) from sample order by name',
  $$select name, jsonb_build_object('a', a, 'b', b) @> pattern from sample order by name$$,
  'a dependent step''s required pattern is contained in the object of its dependencies');
select results_eq('select name, not pg_temp.dependent(name, a, b, null, pattern) from sample order by name',
  $$select name, jsonb_build_object('a', a, 'b', b) @> pattern from sample order by name$$, 'and a forbidden one is not');

-- a condition on a map; conditions after skips, until nothing changes
select pgflow.create_flow('web');
select pgflow.add_step('web', 'list', required_input_pattern => '{"list": true}');
select pgflow.add_step('web', 'each', '{list}', step_type => 'map');
select pgflow.add_step('web', 'after', '{each}', required_input_pattern => '{"each": []}');
select pgflow.add_step('web', 'never', '{list}', required_input_pattern => '{"list": []}', when_unmet => 'skip-cascade');
select pgflow.add_step('web', 'fallen', '{never,each}');
select pgflow.add_step('web', 'end', '{after}', forbidden_input_pattern => '{"after": {}}');
select is(pg_temp.steps('web', '{}'), '{list:skipped,each:completed,after:started,never:skipped,fallen:skipped,end:created}',
  'skips, taskless maps and conditions are worked through until nothing changes');
select pgflow_test.claim('web');
select is(pgflow_test.report('after', 'completed', '{"x": 1}'), 'completed', 'the step that was started completes');
select results_eq('select status, remaining_steps, output from pgflow.runs where flow_slug = $$web$$', $$values ('completed', 0, '{}'::jsonb)$$,
  'its dependent is skipped and the run completes; no leaf completed');
select is_empty('select * from pgflow_test.violations()', 'nothing is broken');

-- a run that is over before it began
select pgflow.create_flow('nothing');
select pgflow.add_step('nothing', 'only', required_input_pattern => '{"go": true}');
select results_eq($$select status, output from pgflow.start_flow('nothing', '{}')$$, $$values ('completed', '{}'::jsonb)$$, 'a run with every step skipped completes at once');

-- a map's condition fails the run in the middle, other queues included
select pgflow.create_flow('mid');
select pgflow.add_step('mid', 'list');
select pgflow.add_step('mid', 'slow', queue_name => 'elsewhere');
select pgflow.add_step('mid', 'plain', '{list}');
select pgflow.add_step('mid', 'each', '{list}', step_type => 'map', required_input_pattern => '{"list": [1]}', when_unmet => 'fail');
select pgflow.start_flow('mid', '1', pgflow_test.w(21));
select pgflow_test.claim('mid');
select is(pgflow_test.report('list', 'completed', '[2]'), 'completed', 'the completion is recorded');
select is((select array_agg(step_slug || ':' || status order by step_slug) from pgflow.step_states where run_id = pgflow_test.w(21)),
  '{each:failed,list:completed,plain:created,slow:started}', 'the step whose condition is unmet fails; what would have started with it did not');
select is((select status from pgflow.runs where run_id = pgflow_test.w(21)), 'failed', 'the run fails');
select is((select status from pgflow.step_tasks where run_id = pgflow_test.w(21) and step_slug = 'slow'), 'cancelled', 'its task on another queue is cancelled');
select is((select count(*) from pgflow_test.live_messages() where queue_name in ('mid', 'elsewhere')), 0::bigint, 'no queue has a message of it');
select is((select count(*) from pgflow.step_tasks where run_id = pgflow_test.w(21)), 2::bigint, 'no further task was made');
select is_empty('select * from pgflow_test.violations()', 'nothing is broken');

-- with the condition met the map starts
select pgflow.start_flow('mid', '1', pgflow_test.w(22));
select pgflow_test.claim('mid');
select pgflow_test.report('list', 'completed', '[1, 2]', run_id => pgflow_test.w(22));
select is((select count(*) from pgflow.step_tasks where run_id = pgflow_test.w(22) and step_slug = 'each'), 2::bigint, 'a map whose condition is met has its tasks');

-- conditions of several runs in one batch
select pgflow.create_flow('many');
select pgflow.add_step('many', 'a');
select pgflow.add_step('many', 'b', '{a}', required_input_pattern => '{"a": {"go": true}}', when_unmet => 'fail');
select pgflow.start_flow('many', '1', pgflow_test.w(31));
select pgflow.start_flow('many', '1', pgflow_test.w(32));
select pgflow_test.claim('many');
select results_eq($$select outcome from pgflow.finish_tasks(pgflow_test.w(1), array[pgflow_test.w(31), pgflow_test.w(32)], '{a,a}', '{0,0}', '{1,1}',
  '{completed,completed}', array['{"go": true}', '{"go": false}'], null) order by item$$, $$values ('completed'), ('completed')$$, 'two runs in one batch');
select is((select array_agg(status order by run_id) from pgflow.runs where flow_slug = 'many'), '{started,failed}', 'each goes its own way');
select is((select array_agg(status order by run_id) from pgflow.step_states where flow_slug = 'many' and step_slug = 'b'), '{started,failed}', 'by its own condition');
select is_empty('select * from pgflow_test.violations()', 'nothing is broken');

select * from finish();
rollback;
