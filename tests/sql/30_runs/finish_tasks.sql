-- The fence and the outcomes of finish_tasks.
begin;
select plan(44);

select pgflow_test.chain('f', '{a,b}');
select pgflow.start_flow('f', '1', pgflow_test.w(11));
select pgflow_test.claim('f');
create temp table held as select run_id, step_slug, task_index, claim_no from pgflow.step_tasks;
create function pg_temp.finish(worker int, claim_no int, result text default 'completed', value text default '1', step text default 'a', run int default 11)
returns table (outcome text, detail text) language sql as $$
  select f.outcome, f.detail from pgflow.finish_tasks(pgflow_test.w(worker), array[pgflow_test.w(run)], array[step], '{0}', array[claim_no],
    array[result], array[case when result = 'completed' then value end], array[case when result <> 'completed' then value end]) f
$$;

-- late and gone
select results_eq('select * from pg_temp.finish(1, 0)', $$values ('late', 'the task is started by worker ' || pgflow_test.w(1))$$, 'an older claim is late');
select results_eq('select * from pg_temp.finish(1, 2)', $$values ('late', 'the task is started by worker ' || pgflow_test.w(1))$$, 'a claim that was never made too');
select results_eq('select * from pg_temp.finish(2, 1)', $$values ('late', 'the task is started by worker ' || pgflow_test.w(1))$$, 'so is another worker');
select results_eq('select * from pg_temp.finish(1, null)', $$values ('late', 'the task is started by worker ' || pgflow_test.w(1))$$, 'and no claim at all');
select results_eq('select * from pg_temp.finish(1, 1, step => $$b$$)', $$values ('gone', 'there is no such task')$$, 'a task that does not exist yet is gone');
select results_eq('select * from pg_temp.finish(1, 1, run => 99)', $$values ('gone', 'there is no such task')$$, 'so is one of a run that is not there');
select results_eq('select status, output, error_message from pgflow.step_tasks', $$values ('started', null::jsonb, null)$$, 'none of them changed anything');

-- completed, then again
select results_eq('select * from pg_temp.finish(1, 1)', $$values ('completed', null)$$, 'the claim that holds the task completes it');
select results_eq('select * from pg_temp.finish(1, 1)', $$values ('again', 'the task is completed')$$, 'the same result sent again is known');
select results_eq('select * from pg_temp.finish(1, 1, $$failed$$, $$x$$)', $$values ('again', 'the task is completed')$$, 'whatever it says');
select is((select count(*) from pgflow.step_tasks where step_slug = 'b'), 1::bigint, 'the next step was started once');
select is((select remaining_steps from pgflow.runs), 1, 'the run counted once');
select is((select output from pgflow.step_tasks where step_slug = 'a'), '1', 'the first word stands');
select results_eq('select * from pg_temp.finish(1, 0)', $$values ('late', 'the task is completed')$$, 'an older claim stays late');
select is_empty('select * from pgflow_test.violations()', 'nothing is broken');

-- after a retry
select pgflow_test.claim('f');
select results_eq('select * from pg_temp.finish(1, 1, $$failed$$, $$boom$$, $$b$$)', $$values ('retrying', '10')$$, 'a failed attempt is queued again');
select results_eq('select * from pg_temp.finish(1, 1, $$failed$$, $$boom$$, $$b$$)', $$values ('again', 'the task is queued')$$, 'sent again it counts once');
select is((select attempts_count from pgflow.step_tasks where step_slug = 'b'), 1, 'one attempt');
select pgflow_test.show_all('f');
select pgflow_test.claim('f', 2);
select results_eq('select * from pg_temp.finish(1, 1, step => $$b$$)', $$values ('late', 'the task is started by worker ' || pgflow_test.w(2))$$, 'once claimed by another, the first is late');

-- after a release and a recovery
select pgflow.release_tasks(pgflow_test.w(2), array[pgflow_test.w(11)], '{b}', '{0}', '{2}', '{true}');
select results_eq('select * from pg_temp.finish(2, 2, step => $$b$$)', $$values ('late', 'the task is queued')$$, 'a released task is no longer the worker''s');
select pgflow_test.claim('f', 2);
select pgflow_test.let_deadlines_pass();
select pgflow.requeue_stalled_tasks();
select results_eq('select * from pg_temp.finish(2, 4, step => $$b$$)', $$values ('late', 'the task is queued')$$, 'nor is a recovered one');
select pgflow_test.claim('f', 2);
select results_eq('select * from pg_temp.finish(2, 6, step => $$b$$)', $$values ('completed', null)$$, 'only the claim of now counts');
select results_eq('select status, output from pgflow.runs', $$values ('completed', '{"b": 1}'::jsonb)$$, 'the run completes');
select is_empty('select * from pgflow_test.violations()', 'nothing is broken');

-- one batch with everything in it
select pgflow.create_flow('g', max_attempts => 1);
select pgflow.add_step('g', 'a', queue_name => 'gq');
select pgflow.start_flow('g', '1', pgflow_test.w(20 + i)) from generate_series(1, 8) i;
select pgflow_test.claim('gq', 3, 7);
select pgflow.cancel_run(pgflow_test.w(21), 'stop');
create temp table answer as
select f.item, f.outcome from pgflow.finish_tasks(pgflow_test.w(3),
  array[pgflow_test.w(22), pgflow_test.w(22), pgflow_test.w(21), pgflow_test.w(28), pgflow_test.w(99), pgflow_test.w(23), pgflow_test.w(24), pgflow_test.w(24), pgflow_test.w(25)],
  '{a,a,a,a,a,a,a,a,a}', '{0,0,0,0,0,0,0,0,0}', '{1,1,1,1,1,1,0,1,1}',
  '{completed,failed,completed,completed,completed,failed,completed,permanent,completed}', array['1', null, '1', '1', '1', null, '1', null, '{"x":'], '{null,x,null,null,null,y,null,z,null}') f;
select results_eq('select * from answer order by item',
  $$values (1, 'completed'), (2, 'again'), (3, 'again'), (4, 'late'), (5, 'gone'), (6, 'failed'), (7, 'late'), (8, 'failed'), (9, 'refused')$$,
  'each item of a mixed batch has its own outcome');
select is((select array_agg(status order by run_id) from pgflow.runs where flow_slug = 'g'), '{cancelled,completed,failed,failed,failed,started,started,started}',
  'and does to its run what it says');
select is_empty('select * from pgflow_test.violations()', 'nothing is broken');

-- an ended run
select is((select outcome from pg_temp.finish(3, 1, run => 21)), 'again', 'a result for a cancelled run changes nothing');
select results_eq('select status, output from pgflow.step_tasks where run_id = pgflow_test.w(21)', $$values ('cancelled', null::jsonb)$$, 'and revives nothing');

-- outputs
select results_eq('select * from pg_temp.finish(3, 1, value => $$[1,]$$, run => 26)',
  $$values ('refused', '[OUTPUT_REFUSED] the output cannot be stored as jsonb: invalid input syntax for type json')$$, 'an output that is no JSON is refused with the reason');
select results_eq('select status, error_message, output from pgflow.step_tasks where run_id = pgflow_test.w(26)',
  $$values ('failed', '[OUTPUT_REFUSED] the output cannot be stored as jsonb: invalid input syntax for type json', null::jsonb)$$, 'and is a failed attempt');
select pgflow.start_flow('f', '1', pgflow_test.w(40));
select pgflow_test.claim('f', 1);
select is((select outcome from pg_temp.finish(1, 1, value => '"\u0000"', run => 40)), 'refused', 'jsonb refuses a NUL character');
select is((select status from pgflow.step_tasks where run_id = pgflow_test.w(40)), 'queued', 'with attempts left it is tried again');
select pgflow_test.show_all('f');
select pgflow_test.claim('f', 1);
select is((select outcome from pg_temp.finish(1, 2, value => '1e400000', run => 40)), 'refused', 'jsonb refuses a number that overflows');
select pgflow_test.show_all('f');
select pgflow_test.claim('f', 1);
select is((select outcome from pg_temp.finish(1, 3, value => '{"n": 12345678901234567890123, "u": "\ud83d\ude00"}', run => 40)), 'completed', 'it takes large integers and surrogate pairs');
select is((select output::text from pgflow.step_tasks where run_id = pgflow_test.w(40) and step_slug = 'a'), U&'{"n": 12345678901234567890123, "u": "\+01F600"}', 'and keeps them');
select is((select count(*) from pg_temp.finish(1, 1, value => repeat('[', 20000) || repeat(']', 20000), run => 40, step => 'b')), 1::bigint, 'nesting beyond the stack raises nothing');

-- new work
select pgflow_test.chain('w', '{a,b}');
select pgflow.start_flow('w', '1', pgflow_test.w(50));
select pgflow_test.claim('w', 5);
select is((select new_work from pgflow.finish_tasks(pgflow_test.w(5), array[pgflow_test.w(50)], '{a}', '{0}', '{1}', '{completed}', '{1}', null)), true,
  'new_work says that this queue has more');
select pgflow_test.claim('w', 5);
select is((select new_work from pgflow.finish_tasks(pgflow_test.w(5), array[pgflow_test.w(50)], '{b}', '{0}', '{1}', '{completed}', '{1}', null)), false,
  'or has not');

-- arguments
select is_empty($$select * from pgflow.finish_tasks(pgflow_test.w(1), '{}', '{}', '{}', '{}', '{}', '{}', '{}')$$, 'an empty batch is fine');
select throws_ok($$select * from pgflow.finish_tasks(null, '{}', '{}', '{}', '{}', '{}', '{}', '{}')$$, '22023', 'worker_id is null', 'a worker is needed');
select throws_like($$select * from pgflow.finish_tasks(pgflow_test.w(1), array[pgflow_test.w(1)], '{a,b}', '{0}', '{1}', '{completed}', null, null)$$,
  'the arrays have different lengths: 1 run_ids, 2 step_slugs%', 'arrays of different lengths are refused');
select throws_ok($$select * from pgflow.finish_tasks(pgflow_test.w(1), array[pgflow_test.w(1)], '{a}', '{0}', '{1}', '{done}', null, null)$$, '22023',
  'result "done" is not known', 'so is a result that does not exist');
select throws_ok($$select * from pgflow.finish_tasks(pgflow_test.w(1), array[pgflow_test.w(1)], '{a}', '{0}', '{1}', array[null]::text[], null, null)$$, '22023',
  'result "<NULL>" is not known', 'and none');

select * from finish();
rollback;
