-- Settings that a database, a role or a session may have, and that change what SQL text means or what is an error.
begin;
select plan(7);
set local standard_conforming_strings = off;
set local transform_null_equals = on;
set local array_nulls = off;
set local plpgsql.extra_errors = 'all';
set local datestyle = 'German';
set local intervalstyle = 'sql_standard';
set local timezone = 'Asia/Kathmandu';
set local bytea_output = 'escape';

select pgflow.ensure_deployment('{"flowSlug": "f", "steps": [{"slug": "list"}, {"slug": "each", "stepType": "map", "dependencies": ["list"]}, {"slug": "end", "dependencies": ["each"]}]}');
select pgflow.start_flow('f', '{}', pgflow_test.w(11));
select is((select outcome from pgflow_test.claim('f')), 'started', 'a claim');
select is(pgflow_test.report('list', 'completed', '[1, null]'), 'completed', 'a result');
select is((select count(*) from pgflow_test.claim('f') where outcome = 'started'), 2::bigint, 'a map');
select is(pgflow_test.report('each', 'failed', 'no', retry_after => 0), 'retrying', 'a failed attempt');
select is(pgflow.release_tasks_except(pgflow_test.w(1), '{}', '{}', '{}', '{}'), 1, 'a release');
select pgflow_test.work('f', '7');
select is((select output from pgflow.runs), '{"end": 7}', 'and a run are what they are elsewhere');
select throws_ok($$ select pgmq.format_table_name('a$b', 'q') $$, '22023', null, 'so is the name of a queue');

select * from finish();
rollback;
