begin;
select plan(69);

-- a -> b -> end, and a map beside it
select pgflow.create_flow('f', max_attempts => 1);
select pgflow.add_step('f', 'a');
select pgflow.add_step('f', 'b', '{a}');
select pgflow.add_step('f', 'each', '{a}', step_type => 'map');
select pgflow.add_step('f', 'end', '{b,each}');
-- Claims whatever is there and reports the result that the list has for 'step' or 'step/index', else output 1.
create function pg_temp.work(results jsonb default '{}', qty int default 100) returns int language plpgsql as $$
declare t record; n int := 0;
begin
  loop
    perform pgflow_test.claim('f', 1, qty);
    for t in select * from pgflow.step_tasks where status = 'started' order by run_id, step_slug, task_index loop
      n := n + 1;
      perform pgflow_test.report(t.step_slug,
        case when k.r ->> 0 = 'fail' then 'failed' else 'completed' end,
        case when k.r ->> 0 = 'fail' then 'boom' else coalesce(k.r::text, '1') end, t.task_index, t.run_id)
      from (select coalesce(results -> (t.step_slug || '/' || t.task_index), results -> t.step_slug)) k(r)
      where exists (select from pgflow.runs r where r.run_id = t.run_id and r.status = 'started');
    end loop;
    exit when not found;
  end loop;
  return n;
end $$;
create function pg_temp.states(id uuid) returns text[] language sql as $$
  select array_agg(st.step_slug || ':' || st.status || case when s.step_type = 'map' and st.remaining_tasks > 0 then ' ' || st.remaining_tasks || '/' || st.initial_tasks else '' end order by s.step_index)
  from pgflow.step_states st join pgflow.steps s using (flow_slug, step_slug) where st.run_id = id $$;
create function pg_temp.newest() returns uuid language sql as $$
  select run_id from pgflow.run_restarts order by restarted_at desc, run_id desc limit 1 $$;

select pgflow.start_flow('f', '{"n": 1}', pgflow_test.w(11));
select pg_temp.work('{"a": [10, 20, 30], "b": "B", "each/1": ["fail"], "each/0": 100}');
select is((select status from pgflow.runs), 'failed', 'a run failed in its map');
select is(pg_temp.states(pgflow_test.w(11)), '{a:completed,b:completed,"each:failed 2/3",end:created}'::text[], 'with one element completed and one never run');

-- resume
create temp table old_states as select * from pgflow.step_states;
create temp table old_run as select * from pgflow.runs;
create temp table n1 as select pgflow.resume_run(pgflow_test.w(11)) as id;
create temp table r1 as select * from pgflow.runs where run_id = (select id from n1);
select results_eq('select flow_slug, status, input, remaining_steps from r1', $$values ('f', 'started', '{"n": 1}'::jsonb, 2)$$, 'resume returns the new run with the same input and what is left');
select isnt((select run_id from r1), pgflow_test.w(11), 'it is another run');
select is(pg_temp.states((select run_id from r1)), '{a:completed,b:completed,"each:started 2/3",end:created}'::text[], 'finished steps are taken over, the map goes on');
select results_eq('select step_slug, task_index, status, message_id is null, input, output from pgflow.step_tasks where run_id = (select run_id from r1) order by 1, 2',
  $$values ('each', 0, 'completed', true, '10'::jsonb, '100'::jsonb), ('each', 1, 'queued', false, '20', null), ('each', 2, 'queued', false, '30', null)$$,
  'its completed element has no message, the others are queued; completed steps bring no tasks');
select results_eq('select step_slug, output, started_at, completed_at, created_at from pgflow.step_states where run_id = (select run_id from r1) and status = $$completed$$ order by 1',
  'select step_slug, output, started_at, completed_at, created_at from old_states where status = $$completed$$ order by 1', 'outputs and times are those of the work');
select results_eq('select * from pgflow.runs where run_id = pgflow_test.w(11)', 'select * from old_run', 'the old run stays as it was');
select results_eq('select restart_of_run_id, origin_run_id, restart_no, resumed, by = session_user from pgflow.run_restarts', $$values (pgflow_test.w(11), pgflow_test.w(11), 1, true, true)$$, 'the link tells the old run');
select is_empty('select * from pgflow_test.violations()', 'nothing is broken');
select is(pg_temp.work('{"each/1": 200, "each/2": 300, "end": "done"}'), 3, 'only what was missing runs');
select results_eq('select status, output from pgflow.runs where run_id = (select run_id from r1)', $$values ('completed', '{"end": "done"}'::jsonb)$$, 'the new run completes');
select is((select output from pgflow.step_states where run_id = (select run_id from r1) and step_slug = 'each'), '[100, 200, 300]', 'the map has old and new outputs in order');
select is_empty('select * from pgflow_test.violations()', 'nothing is broken');

-- again
select results_eq('select new_run_id, refused from pgflow.resume_runs(array[pgflow_test.w(11)])',
  format($$values (null::uuid, 'it was restarted as run %s at %s; say again => true for another restart')$$, (select run_id from r1), (select date_trunc('second', restarted_at) from pgflow.run_restarts)), 'a second resume is refused');
select throws_ok('select pgflow.resume_run(pgflow_test.w(11))', '55000', null, 'the singular form raises it');
select throws_ok('select pgflow.retry_run(pgflow_test.w(11))', '55000', null, 'a retry after a resume too');
select isnt((select new_run_id from pgflow.resume_runs(array[pgflow_test.w(11)], again => true)), null, 'again makes another');
select results_eq('select restart_no, origin_run_id from pgflow.run_restarts where run_id = pg_temp.newest()', 'values (2, pgflow_test.w(11))', 'it is the second');
select pgflow.cancel_run(pg_temp.newest());

-- chain: a resume of a resume
create temp table third as select pgflow.resume_run(pg_temp.newest()) as run_id;
select results_eq('select restart_of_run_id = (select run_id from pgflow.run_restarts where restart_no = 2), origin_run_id from pgflow.run_restarts where run_id = (select run_id from third)', 'values (true, pgflow_test.w(11))', 'a chain keeps its origin');
select is(pg_temp.states((select run_id from third)), '{a:completed,b:completed,"each:started 2/3",end:created}'::text[], 'elements that were taken over are taken over again');
select results_eq('select run_id, how, status from pgflow.run_chain((select run_id from r1))',
  $$select * from (values (pgflow_test.w(11), null, 'failed'), ((select run_id from r1), 'resume', 'completed'),
    ((select run_id from pgflow.run_restarts where restart_no = 2), 'resume', 'cancelled'), ((select run_id from third), 'resume', 'started')) v$$, 'the chain is seen from any of its runs');
select is((select count(*) from pgflow.run_chain(pgflow_test.w(99))), 0::bigint, 'a run that is not there has no chain');
select pg_temp.work();
select is_empty('select * from pgflow_test.violations()', 'nothing is broken');

-- retry
select pgflow.start_flow('f', '{"n": 2}', pgflow_test.w(12));
select pg_temp.work('{"a": ["fail"]}');
select results_eq('select run_id, refused from pgflow.retry_runs(array[pgflow_test.w(12), pgflow_test.w(12)])', 'values (pgflow_test.w(12), null::text)', 'a run that is given twice is retried once');
select is(pg_temp.states(pg_temp.newest()), '{a:started,b:created,each:created,end:created}'::text[], 'a retry starts from the beginning');
select results_eq('select input, status, remaining_steps from pgflow.runs where run_id = pg_temp.newest()', $$values ('{"n": 2}'::jsonb, 'started', 4)$$, 'with the same input');
select is((select resumed from pgflow.run_restarts where run_id = pg_temp.newest()), false, 'its link says so');
select pg_temp.work('{"a": ["fail"]}');
select pgflow.retry_run(pg_temp.newest(), input => '{"n": 3}');
select is((select input from pgflow.runs where run_id = pg_temp.newest()), '{"n": 3}', 'an input may be corrected');
select pg_temp.work('{"a": [1]}');
select is((select status from pgflow.runs where run_id = pg_temp.newest()), 'completed', 'it completes');
create temp table done as select pg_temp.newest() as run_id;
select results_eq('select refused from pgflow.resume_runs(array[(select run_id from done)])', $$values ('it completed: nothing is left to resume; retry_runs starts it over')$$, 'a completed run is not resumed');
select is((select refused from pgflow.retry_runs(array[(select run_id from done)])), null, 'but started over');
select results_eq('select refused from pgflow.retry_runs(array[pg_temp.newest()])', $$values ('it is still at work; cancel it first (pgflow.cancel_run)')$$, 'a run at work is refused');
select results_eq('select refused from pgflow.resume_runs(array[pg_temp.newest()])', $$values ('it is still at work; cancel it first (pgflow.cancel_run)')$$, 'for a resume too');
select results_eq('select run_id, refused from pgflow.retry_runs(array[pgflow_test.w(98), (select run_id from done)])',
  $$select * from (values (pgflow_test.w(98), 'there is no run 10000000-0000-4000-8000-000000000098; it may have been pruned or deleted with its flow'),
    ((select run_id from done), format('it was restarted as run %s at %s; say again => true for another restart', pg_temp.newest(), (select date_trunc('second', restarted_at) from pgflow.run_restarts where run_id = pg_temp.newest())))) v$$, 'reasons come in the order of the runs');
select throws_ok('select * from pgflow.retry_runs(array[null]::uuid[])', '22004', null, 'a null is an error');
select throws_ok('select * from pgflow.resume_runs(null)', '22004', null, 'and no array');
select is_empty($$select * from pgflow.resume_runs('{}')$$, 'no runs, no rows');
select throws_ok($$select * from pgflow.retry_runs(array[pgflow_test.w(12)], 'nowhere')$$, '42704', null, 'an unknown target is an error');
select pg_temp.work();

-- cancelled, and data that is gone
select pgflow.start_flow('f', '{}', pgflow_test.w(13));
select pgflow_test.claim('f', 1, 1);
select pgflow_test.report('a', 'completed', '[1]', 0, pgflow_test.w(13));
select pgflow.cancel_run(pgflow_test.w(13));
savepoint cancelled;
select is((select refused from pgflow.resume_runs(array[pgflow_test.w(13)])), null, 'a cancelled run is resumed');
select is(pg_temp.states(pg_temp.newest()), '{a:completed,b:started,"each:started 1/1",end:created}'::text[], 'plain steps start at once, maps are decided');
select is((select count(*) from pgflow_test.live_messages()), 2::bigint, 'with their messages');
select is_empty('select * from pgflow_test.violations()', 'nothing is broken');
rollback to cancelled;
update pgflow.step_states set output = null where run_id = pgflow_test.w(13) and step_slug = 'a';
select results_eq('select refused from pgflow.resume_runs(array[pgflow_test.w(13)])', $$values ('data of its step "a" is gone; retry_runs starts it over')$$, 'an output that is gone refuses');
rollback to cancelled;
delete from pgflow.step_tasks where run_id = pgflow_test.w(13) and step_slug = 'b';
delete from pgflow.step_states where run_id = pgflow_test.w(13) and step_slug = 'b';
select results_eq('select refused from pgflow.resume_runs(array[pgflow_test.w(13)])', $$values ('data of its step "b" is gone; retry_runs starts it over')$$, 'a state that is gone refuses');
rollback to cancelled;
delete from pgflow.step_tasks where run_id = pgflow_test.w(11) and step_slug = 'each' and task_index = 2;
select results_eq('select refused from pgflow.resume_runs(array[pgflow_test.w(11)], again => true)', $$values ('of the 3 elements of its map step "each" only 2 are left')$$, 'elements that are gone refuse');
rollback to cancelled;

-- retired
select pgflow.create_flow('once', max_attempts => 1);
select pgflow.add_step('once', 'a');
select pgflow.start_flow('once', '{}', pgflow_test.w(14));
select pgflow.cancel_run(pgflow_test.w(14));
update pgflow.flows set retired_at = clock_timestamp() where flow_slug = 'once';
select results_eq('select refused from pgflow.retry_runs(array[pgflow_test.w(14)])', $$values ('flow "once" is retired and takes no new runs; name another version with onto, or bring it back: select pgflow.unretire_flow(''once'')')$$, 'a retired version refuses');
select throws_ok($$select * from pgflow.retry_runs(array[pgflow_test.w(13)], 'once')$$, '55000', null, 'as a target it is an error');

-- skipped steps
select pgflow.create_flow('s', max_attempts => 1);
select pgflow.add_step('s', 'a', when_exhausted => 'skip');
select pgflow.add_step('s', 'b', '{a}');
select pgflow.add_step('s', 'c', '{b}');
select pgflow.add_step('s', 'never', required_input_pattern => '{"go": true}');
select pgflow.add_step('s', 'after', '{never}');
select pgflow.start_flow('s', '{}', pgflow_test.w(15));
select pgflow_test.claim('s');
select pgflow_test.report('a', 'failed', 'no', 0, pgflow_test.w(15));
select pgflow_test.claim('s');
select pgflow_test.report('b', 'completed', '2', 0, pgflow_test.w(15));
select pgflow.cancel_run(pgflow_test.w(15));
savepoint skipped;
select pgflow.resume_run(pgflow_test.w(15));
select is(pg_temp.states(pg_temp.newest()), '{a:skipped,b:completed,c:started,never:skipped,after:started}'::text[], 'skipped steps stay skipped');
select results_eq('select step_slug, skip_reason, error_message from pgflow.step_states where run_id = pg_temp.newest() and status = $$skipped$$ order by 1', $$values ('a', 'handler_failed', 'no'), ('never', 'condition_unmet', null)$$, 'with their reason');
select is_empty('select * from pgflow_test.violations()', 'nothing is broken');
rollback to skipped;
select pgflow.resume_run(pgflow_test.w(15), rerun_skipped => true);
select is(pg_temp.states(pg_temp.newest()), '{a:started,b:created,c:created,never:skipped,after:started}'::text[], 'rerun_skipped runs what its handler failed, and what depends on it');
select is_empty('select * from pgflow_test.violations()', 'nothing is broken');
rollback to skipped;

-- a condition that ended the run
select pgflow.create_flow('c', max_attempts => 1);
select pgflow.add_step('c', 'a');
select pgflow.add_step('c', 'gate', '{a}', required_input_pattern => '{"a": {"ok": true}}', when_unmet => 'fail');
select pgflow.start_flow('c', '{}', pgflow_test.w(16));
select pgflow_test.claim('c');
select pgflow_test.report('a', 'completed', '{"ok": false}', 0, pgflow_test.w(16));
select is((select status from pgflow.runs where run_id = pgflow_test.w(16)), 'failed', 'an unmet condition failed a run');
select results_eq('select refused from pgflow.resume_runs(array[pgflow_test.w(16)])', $$values ('its input still does not meet the required_input_pattern of step "gate"')$$, 'it would fail again, so it is refused');
select is((select refused from pgflow.retry_runs(array[pgflow_test.w(16)])), null, 'a retry may bring another output');

-- onto another version
select pgflow.create_flow('v1', max_attempts => 1);
select pgflow.add_step('v1', 'a'); select pgflow.add_step('v1', 'b', '{a}'); select pgflow.add_step('v1', 'c', '{b}'); select pgflow.add_step('v1', 'gone', '{a}');
select pgflow.create_flow('v2', max_attempts => 1);
select pgflow.add_step('v2', 'a'); select pgflow.add_step('v2', 'b', '{a}'); select pgflow.add_step('v2', 'c', '{b}', required_input_pattern => '{"b": 7}', when_unmet => 'fail'); select pgflow.add_step('v2', 'fresh', '{a}');
update pgflow.steps set contract = step_slug || '1' where flow_slug in ('v1', 'v2');
select pgflow.start_flow('v1', '{}', pgflow_test.w(17));
select pgflow_test.claim('v1'); select pgflow_test.report('a', 'completed', '6', 0, pgflow_test.w(17));
select pgflow_test.claim('v1'); select pgflow_test.report('b', 'completed', '7', 0, pgflow_test.w(17));
select pgflow_test.claim('v1'); select pgflow_test.report('c', 'failed', 'x', 0, pgflow_test.w(17));
savepoint versions;
select pgflow.resume_run(pgflow_test.w(17), 'v2');
create temp table onto as select * from pgflow.runs where run_id = pg_temp.newest();
select is((select flow_slug from onto), 'v2', 'a run goes on on another version');
select is(pg_temp.states((select run_id from onto)), '{a:completed,b:completed,c:started,fresh:started}'::text[], 'what both have is taken over, the rest drops or is new');
select is_empty('select * from pgflow_test.violations()', 'nothing is broken');
rollback to versions;
update pgflow.steps set contract = 'b2' where flow_slug = 'v2' and step_slug = 'b';
select results_eq($$select refused from pgflow.resume_runs(array[pgflow_test.w(17)], 'v2')$$, $$values ('the contract of step "b" is ''b1'' in flow "v1" and ''b2'' in "v2"; retry_runs starts it over')$$, 'another contract refuses, and both are named');
update pgflow.steps set contract = null where step_slug = 'b';
select results_eq($$select refused from pgflow.resume_runs(array[pgflow_test.w(17)], 'v2')$$, $$values ('the contract of step "b" is not stated in flow "v1" and not stated in "v2"; retry_runs starts it over')$$, 'no contract is no promise');
select is((select refused from pgflow.retry_runs(array[pgflow_test.w(17)], 'v2')), null, 'a retry asks for none');
rollback to versions;
delete from pgflow.deps where flow_slug = 'v2' and step_slug = 'b'; 
select results_eq($$select refused from pgflow.resume_runs(array[pgflow_test.w(17)], 'v2')$$, $$values ('step "b" depends on {a} in flow "v1" and on {} in "v2"; retry_runs starts it over')$$, 'other dependencies refuse');
rollback to versions;
update pgflow.steps set required_input_pattern = '{"b": 8}' where flow_slug = 'v2' and step_slug = 'c';
select results_eq($$select refused from pgflow.resume_runs(array[pgflow_test.w(17)], 'v2')$$, $$values ('its input still does not meet the required_input_pattern of step "c"')$$, 'a condition of the new version that would end it refuses');
rollback to versions;
-- nothing missing: the version lacks what failed
delete from pgflow.deps where flow_slug = 'v2' and step_slug in ('c', 'fresh'); delete from pgflow.steps where flow_slug = 'v2' and step_slug in ('c', 'fresh');
select pgflow.resume_run(pgflow_test.w(17), 'v2');
select results_eq($$select status, output, remaining_steps from pgflow.runs where run_id = pg_temp.newest()$$, $$values ('completed', '{"b": 7}'::jsonb, 0)$$, 'a run with nothing missing completes');
select is_empty('select * from pgflow_test.violations()', 'nothing is broken');
rollback to versions;
-- a skipped step whose condition is another one is decided anew; what was completed behind it refuses
update pgflow.step_states set status = 'skipped', skip_reason = 'condition_unmet', output = null, completed_at = null, skipped_at = clock_timestamp(), started_at = null where run_id = pgflow_test.w(17) and step_slug = 'a';
update pgflow.steps set forbidden_input_pattern = '{"x": 1}' where flow_slug = 'v2' and step_slug = 'a';
select results_eq($$select refused from pgflow.resume_runs(array[pgflow_test.w(17)], 'v2')$$, $$values ('step "b" is completed and depends on step "a", which flow "v2" has yet to decide; retry_runs starts it over')$$, 'finished work behind an open decision refuses');
rollback to versions;

-- retention
select pgflow.resume_run(pgflow_test.w(17));
update pgflow.runs set started_at = started_at - interval '2 days', failed_at = failed_at - interval '2 days' where run_id = pgflow_test.w(17);
create temp table kept as select pg_temp.newest() as run_id;
select pgflow.prune_data_older_than('1 day');
select results_eq('select run_id = (select run_id from kept), status from pgflow.run_chain((select run_id from kept))', $$values (false, null), (true, 'started')$$, 'a chain outlives its first run');
select pgflow.delete_flow_and_data('v1');
select is_empty('select * from pgflow.run_restarts where run_id = (select run_id from kept)', 'a link goes with its run');

select * from finish();
rollback;
