-- The marks of hosts that could not start for want of coverage.
begin;
select plan(19);

create function pg_temp.info(variadic sums text[]) returns jsonb language sql as $$
  select jsonb_build_object('modules', (select jsonb_agg(jsonb_build_object('sha256', s)) from unnest(sums) s)) $$;
create function pg_temp.stand_by(id int, function_name text, queue text, info jsonb) returns text language sql as $$
  select pgflow.register_worker(pgflow_test.w(id), queue, function_name, '{}', info, true) $$;

select is(pgflow.note_coverage_gap('f', 'q', pg_temp.info('a1', 'b2')), false, 'the first start is told that it is the first');
select is(pgflow.note_coverage_gap('f', 'q', pg_temp.info('a1', 'b2')), true, 'the next one that an earlier one was there');
select is(pgflow.note_coverage_gap('f', 'Q', pg_temp.info('B2', 'a1', 'b2')), true, 'whatever the order and spelling of modules and queue');
select is(pgflow.note_coverage_gap('g', 'q', pg_temp.info('a1', 'b2')), false, 'another function is another start');
select is(pgflow.note_coverage_gap('f', 'p', pg_temp.info('a1', 'b2')), false, 'so is another queue');
select is(pgflow.note_coverage_gap('f', 'q', pg_temp.info('a1')), false, 'and another set of modules');
select is(pgflow.note_coverage_gap('f', 'q', '{}'), false, 'no modules are a set, too');
select is(pgflow.note_coverage_gap('f', 'q', null), true, 'and so is nothing');
select is((select count(*) from pgflow.coverage_gaps), 5::bigint, 'a mark each');
select isnt(pgflow._modules_digest('{"modules": [{"buildId": "a1"}]}'), pgflow._modules_digest('{}'), 'a host that gives no sum is known by its build-id');

-- Who waits
select pg_temp.stand_by(1, 'f', 'Q', pg_temp.info('b2', 'a1'));
select pg_temp.stand_by(2, 'f', 'q', pg_temp.info('c3'));
select is(pgflow.worker_waits_for_coverage(pgflow_test.w(1)), true, 'a stand-by row with the key of a mark waits for coverage');
select is(pgflow.worker_waits_for_coverage(pgflow_test.w(2)), false, 'one with other modules does not');
select is(pgflow.worker_waits_for_coverage(pgflow_test.w(3)), false, 'nor one that is not there');
select pgflow.disable_worker_functions('{f}');
select is(pgflow.worker_waits_for_coverage(pgflow_test.w(1)), false, 'while its function is disabled it stands by for that');
select pgflow.enable_worker_function('f');

-- What ends a mark
select is(pgflow.register_worker(pgflow_test.w(4), 'q', 'f', pgflow_test.pairs('x/a'), pg_temp.info('a1', 'b2'), predecessor => pgflow_test.w(1)),
  'registered', 'a start that comes through');
select is((select count(*) from pgflow.coverage_gaps where function_name = 'f' and queue_name = 'q'), 2::bigint, 'takes its own mark away, and no other');
select is(pgflow.note_coverage_gap('f', 'q', pg_temp.info('a1', 'b2')), false, 'the next gap is a first one again');
update pgflow.coverage_gaps set last_noted_at = last_noted_at - interval '2 days' where function_name = 'g';
select pgflow.prune_data_older_than('1 day');
select is((select count(*) from pgflow.coverage_gaps where function_name = 'g'), 0::bigint, 'old marks are pruned');
select is((select count(*) from pgflow.coverage_gaps), 4::bigint, 'younger ones are not');

select * from finish();
rollback;
