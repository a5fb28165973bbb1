begin;
select plan(36);

select pgflow.create_flow('f', max_attempts => 1);
select pgflow.add_step('f', 'a');
select pgflow.add_step('f', 'b', '{a}');
select pgflow.create_flow('g', max_attempts => 1);
select pgflow.add_step('g', 'a');
create function pg_temp.worker(n int, host text, build text, queue text) returns void language sql as $$
  insert into pgflow.workers (worker_id, queue_name, function_name, info)
  values (pgflow_test.w(n), queue, 'fn', jsonb_build_object('host', host, 'modules', jsonb_build_array(
    jsonb_build_object('flow', queue, 'sha256', repeat(build, 64), 'buildId', repeat(build, 40))))) $$;
select pg_temp.worker(1, 'berlin', 'a', 'f');
select pg_temp.worker(2, 'paris', 'b', 'f');
select pg_temp.worker(3, 'paris', 'c', 'g');
-- 11: fails in a at berlin; 12: fails in b at paris; 13: completes; 14: cancelled; 15: at work; 21: g fails
select pgflow.start_flow('f', '{}', pgflow_test.w(n)) from generate_series(11, 11) n;
select pgflow_test.claim('f', 1);
select pgflow_test.report('a', 'failed', E'row 17 of 0b7c5bd2-6d3c-4a3a-9a51-0a5f7b1f6a10 is bad\nat line 4');
select pgflow.start_flow('f', '{}', pgflow_test.w(12));
select pgflow_test.claim('f', 1);
select pgflow_test.report('a', 'completed', '1', 0, pgflow_test.w(12));
select pgflow_test.claim('f', 2);
select pgflow_test.report('b', 'failed', 'row 18 of 0b7c5bd2-6d3c-4a3a-9a51-0a5f7b1f6a11 is bad', 0, pgflow_test.w(12));
select pgflow.start_flow('f', '{}', pgflow_test.w(13));
select pgflow_test.work('f');
select pgflow.start_flow('f', '{}', pgflow_test.w(14));
select pgflow.cancel_run(pgflow_test.w(14), 'wrong');
select pgflow.start_flow('f', '{}', pgflow_test.w(15));
select pgflow.start_flow('g', '{}', pgflow_test.w(21));
select pgflow_test.claim('g', 3);
select pgflow_test.report('a', 'permanent', 'no such file', 0, pgflow_test.w(21));
create function pg_temp.found(filter jsonb) returns int[] language sql as $$
  select coalesce(array_agg(right(f.run_id::text, 2)::int order by f.place), '{}')
  from (select r.*, row_number() over () as place from pgflow.find_runs(filter) r) f $$;

select is(pg_temp.found('{}'), '{21,15,14,13,12,11}', 'all runs, the latest first');
select is(pg_temp.found('{"status": ["failed", "cancelled"]}'), '{21,14,12,11}', 'those that failed or were cancelled');
select is(pg_temp.found('{"status": "failed"}'), '{21,12,11}', 'one status');
select is(pg_temp.found('{"status": ["failed", "completed"]}'), '{21,13,12,11}', 'mixed with completed ones');
select is(pg_temp.found('{"status": "failed", "flow": "f"}'), '{12,11}', 'of a flow');
select is(pg_temp.found('{"status": "failed", "step": "a"}'), '{21,11}', 'where a step failed');
select is(pg_temp.found('{"step": "b"}'), '{12}', 'of any status');
select is(pg_temp.found('{"status": "failed", "error": "row [0-9]+ of"}'), '{12,11}', 'by a regular expression on the error');
select is(pg_temp.found('{"error": "^no such"}'), '{21}', 'anchored');
select is(pg_temp.found('{"status": "failed", "host": "paris"}'), '{21,12}', 'by host');
select is(pg_temp.found('{"status": "failed", "build": "bbbbbbbb"}'), '{12}', 'by the beginning of a build');
select is(pg_temp.found('{"build": "BBBBBBBB", "host": "paris"}'), '{12}', 'both, in any case of letters');
select is(pg_temp.found('{"build": "aaaaaaaa"}'), '{13,11}', 'a run that has not failed by any task');
select is(pg_temp.found('{"status": "failed", "since": "1 hour"}'), '{21,12,11}', 'since an age');
select is(pg_temp.found('{"status": "failed", "until": "1h"}'), '{}', 'until an age');
select is(pg_temp.found(jsonb_build_object('status', 'failed', 'since', (select failed_at from pgflow.runs where run_id = pgflow_test.w(12))::text)), '{21,12}', 'since a timestamp, inclusive');
select is(pg_temp.found('{"since": "1000000 years"}'), '{21,15,14,13,12,11}', 'an age beyond history is everything');
select is(pg_temp.found('{"flow": null, "step": null}'), '{21,15,14,13,12,11}', 'null asks for nothing');

select results_eq($$select step_slug, error, worker_id from pgflow.find_runs('{"status": "failed", "flow": "f"}')$$,
  $$values ('b', 'row 18 of 0b7c5bd2-6d3c-4a3a-9a51-0a5f7b1f6a11 is bad', pgflow_test.w(2)), ('a', E'row 17 of 0b7c5bd2-6d3c-4a3a-9a51-0a5f7b1f6a10 is bad\nat line 4', pgflow_test.w(1))$$, 'step, error and worker are told');
select results_eq($$select at from pgflow.find_runs('{"status": "cancelled"}')$$, 'select failed_at from pgflow.runs where run_id = pgflow_test.w(14)', 'at is the end of what failed');
select results_eq($$select at from pgflow.find_runs('{"flow": "g"}')$$, 'select started_at from pgflow.runs where run_id = pgflow_test.w(21)', 'and the start otherwise');

-- pages
create temp table page as select * from pgflow.find_runs('{"status": "failed"}', max_runs => 2);
select is((select count(*) from page), 2::bigint, 'a page has as many as asked for');
select is((select array_agg(n.run_id) from pgflow.find_runs('{"status": "failed"}', (select at from page order by at limit 1), (select run_id from page order by at limit 1), 2) n),
  array[pgflow_test.w(11)], 'the next goes on behind it');
select is_empty($$select * from pgflow.find_runs('{}', max_runs => 0)$$, 'none is none');

-- restarted
select pgflow.resume_run(pgflow_test.w(12));
select is(pg_temp.found('{"status": "failed", "unrestarted": true}'), '{21,11}', 'what was restarted can be left out');

-- groups
select results_eq($$select name, runs, example_run from pgflow.group_runs('{"status": "failed"}', 'error')$$,
  $$values ('row <n> of <id> is bad', 2::bigint, pgflow_test.w(12)), ('no such file', 1, pgflow_test.w(21))$$, 'errors that differ in numbers and ids alone are one');
select results_eq($$select name, runs from pgflow.group_runs('{"status": "failed"}', 'step')$$, $$values ('a', 2::bigint), ('b', 1)$$, 'by step');
select results_eq($$select name, runs from pgflow.group_runs('{"status": "failed"}', 'host')$$, $$values ('paris', 2::bigint), ('berlin', 1)$$, 'by host');
select results_eq($$select left(name, 3), runs from pgflow.group_runs('{"status": "failed"}', 'build')$$, $$values ('aaa', 1::bigint), ('bbb', 1), ('ccc', 1)$$, 'by build');
select results_eq($$select name, runs from pgflow.group_runs('{}', 'status')$$, $$values ('failed', 3::bigint), ('started', 2), ('cancelled', 1), ('completed', 1)$$, 'by status');
select results_eq($$select name, runs, first_at, last_at from pgflow.group_runs('{"flow": "g"}')$$, $$select null, 1::bigint, started_at, started_at from pgflow.runs where flow_slug = 'g'$$, 'in all');

-- refusals
select throws_ok($$select * from pgflow.find_runs('{"flwo": "f"}')$$, '22023', 'a filter for runs has no key "flwo"', 'an unknown key');
select throws_ok($$select * from pgflow.find_runs('{"status": "fialed"}')$$, '22023', 'there is no status "fialed" of runs', 'an unknown status');
select throws_ok($$select * from pgflow.find_runs('{"flow": "nowhere"}')$$, '42704', 'there is no flow and no alias "nowhere"', 'an unknown flow');
select throws_ok($$select * from pgflow.find_runs('{"error": "("}')$$, '2201B', null, 'no regular expression');
select throws_ok($$select * from pgflow.group_runs('{}', 'color')$$, '22023', 'runs cannot be grouped by "color"', 'an unknown group');

select * from finish();
rollback;
