-- A map over 50,000 elements: every element handled once, no work that grows with the square of their number.
-- Asserted by the rows that batches read, not by a clock.
begin;
select plan(14);

select pgflow.create_flow('big');
select pgflow.add_step('big', 'list');
select pgflow.add_step('big', 'each', '{list}', step_type => 'map');
select pgflow.start_flow('big', '1', pgflow_test.w(11));
select pgflow_test.claim('big');
select is((select outcome from pgflow.finish_tasks(pgflow_test.w(1), array[pgflow_test.w(11)], '{list}', '{0}', '{1}', '{completed}',
  array[(select jsonb_agg(jsonb_build_object('n', n))::text from generate_series(0, 49999) n)], null)), 'completed', 'a list of 50,000 elements');
select results_eq($$select count(*), count(distinct message_id), min(task_index), max(task_index), bool_and(input = jsonb_build_object('n', task_index))
    from pgflow.step_tasks where step_slug = 'each'$$,
  $$values (50000::bigint, 50000::bigint, 0, 49999, true)$$, 'each has a task with its element and a message of its own');
select is((select count(*) from pgflow_test.live_messages()), 50000::bigint, 'all of them are queued');
select ok((select bool_and(message_id > lag) from (select message_id, lag(message_id) over (order by task_index) as lag from pgflow.step_tasks where step_slug = 'each') t where lag is not null),
  'in the order of the elements');

-- What a batch reads of the tasks, early and late in the map.
create function pg_temp.rows_read() returns bigint language sql as $$
  select pg_stat_get_xact_tuples_fetched('pgflow.step_tasks'::regclass) + pg_stat_get_xact_tuples_returned('pgflow.step_tasks'::regclass)
$$;
create function pg_temp.start(first int, last int) returns void language sql as $$
  update pgflow.step_tasks
  set status = 'started', claim_no = 1, attempts_count = 1, started_at = clock_timestamp(), last_worker_id = pgflow_test.w(1),
      recover_at = clock_timestamp() + interval '1 hour'
  where step_slug = 'each' and task_index between first and last
$$;
create function pg_temp.finish(first int, last int) returns bigint language sql as $$
  select count(*)
  from (select array_agg(i) as indexes, array_agg(i::text) as outputs, array_agg('each'::text) as steps, array_agg(1) as claims,
               array_agg('completed'::text) as results, array_agg(pgflow_test.w(11)) as runs
        from generate_series(first, last) i) b
  cross join lateral pgflow.finish_tasks(pgflow_test.w(1), b.runs, b.steps, b.indexes, b.claims, b.results, b.outputs, null) f
  where f.outcome = 'completed'
$$;
create temp table reads (batch text, before bigint, after bigint);
select pg_temp.start(0, 99);
insert into reads select 'early', pg_temp.rows_read();
select is(pg_temp.finish(0, 99), 100::bigint, 'a first batch of 100');
update reads set after = pg_temp.rows_read() where batch = 'early';
select pg_temp.start(100, 49899);
select is(pg_temp.finish(100, 49799), 49700::bigint, 'nearly all others in one batch');
insert into reads select 'late', pg_temp.rows_read();
select is(pg_temp.finish(49800, 49899), 100::bigint, 'a batch of 100 near the end');
update reads set after = pg_temp.rows_read() where batch = 'late';
select cmp_ok((select after - before from reads where batch = 'early'), '<', 2000::bigint, 'a batch of 100 reads some hundred task rows, not the map');
select cmp_ok((select after - before from reads where batch = 'late'), '<', 2000::bigint, 'near the end as well');
select is((select remaining_tasks from pgflow.step_states where step_slug = 'each'), 100, 'the step counted down');

-- the end
select pg_temp.start(49900, 49999);
select is(pg_temp.finish(49900, 49999), 100::bigint, 'the last batch');
select results_eq($$select status, jsonb_array_length(output), output -> 49999, md5(output::text) from pgflow.step_states where step_slug = 'each'$$,
  $$select 'completed', 50000, '49999'::jsonb, md5(jsonb_agg(n)::text) from generate_series(0, 49999) n$$, 'the map gives all outputs in order');
select is((select status from pgflow.runs), 'completed', 'the run completes');
select is((select count(*) from pgflow_test.live_messages()), 0::bigint, 'no message is left');

select * from finish();
rollback;
