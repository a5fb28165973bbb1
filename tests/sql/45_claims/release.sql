begin;
select plan(29);
select pgflow.create_flow('f'), pgflow.add_step('f', 'each', step_type => 'map');
select pgflow.register_worker(pgflow_test.w(1), 'f', 'fn', pgflow_test.pairs('f/each'));
select pgflow.register_worker(pgflow_test.w(2), 'f', 'fn', pgflow_test.pairs('f/each'));
select pgflow.start_flow('f', '[0, 1, 2, 3, 4, 5]', pgflow_test.w(101));
create temp table claim as select * from pgflow.read_and_claim_tasks('f', 100, 5, pgflow_test.w(1));
create function pg_temp.release(who int, items int[], claim_nos int[], started boolean[], delay int default 0)
returns table (item int, outcome text) language sql as $$
  select * from pgflow.release_tasks(pgflow_test.w(who), array_fill(pgflow_test.w(101), array[cardinality(items)]),
    array_fill('each'::text, array[cardinality(items)]), items, claim_nos, started, delay) $$;

select results_eq($$select * from pg_temp.release(1, '{0,1}', '{1,1}', '{f,t}')$$, $$values (1, 'released'), (2, 'released')$$, 'claimed tasks are released');
select results_eq($$select status, attempts_count, claim_no, released_count, started_at, recover_at from pgflow.step_tasks where task_index < 2 order by task_index$$,
  $$values ('queued', 0, 2, 0, null::timestamptz, null::timestamptz), ('queued', 0, 2, 1, null, null)$$,
  'the attempt is not counted, the claim number moves on, a started handler is counted as released');
select ok((select bool_and(m.vt <= clock_timestamp()) from claim c, pgflow_test.message('f', c.msg_id) m where c.task_index < 2), 'visible at once');
select results_eq($$select * from pg_temp.release(1, '{0}', '{1}', '{f}')$$, $$values (1, 'late')$$, 'releasing again is late');
select results_eq($$select outcome from pgflow.finish_tasks(pgflow_test.w(1), array[pgflow_test.w(101)], '{each}', '{0}', '{1}', '{completed}', '{1}', '{null}')$$,
  $$values ('late')$$, 'so is the result of the released claim');
select results_eq($$select outcome, attempt, claim_no from pgflow.read_and_claim_tasks('f', 1, 5, pgflow_test.w(2))$$, $$values ('started', 1, 3)$$,
  'another worker gets it, as the first attempt, under a new claim');
select results_eq($$select * from pg_temp.release(1, '{2}', '{2}', '{f}')$$, $$values (1, 'late')$$, 'a wrong claim number is late');
select results_eq($$select * from pg_temp.release(2, '{2}', '{1}', '{f}')$$, $$values (1, 'late')$$, 'so is another worker''s claim');
select results_eq($$select * from pg_temp.release(1, '{77}', '{1}', '{f}')$$, $$values (1, 'gone')$$, 'a task that does not exist is gone');
select results_eq($$select * from pg_temp.release(1, '{2,2}', '{1,1}', '{t,t}')$$, $$values (1, 'released'), (2, 'late')$$, 'a claim named twice is released once');
select is((select released_count from pgflow.step_tasks where task_index = 2), 1, 'and counted once');
select results_eq($$select * from pg_temp.release(1, '{4,77,3}', '{1,1,1}', '{f,f,f}', 100)$$,
  $$values (1, 'released'), (2, 'gone'), (3, 'released')$$, 'one row an item, in order');
select ok((select bool_and(m.vt between now() + interval '100 s' and clock_timestamp() + interval '100 s')
           from claim c, pgflow_test.message('f', c.msg_id) m where c.task_index in (3, 4)), 'a delay is kept');
select is_empty($$select * from pg_temp.release(1, '{}', '{}', '{}')$$, 'no items: no rows');
select throws_ok($$select pg_temp.release(1, '{1}', '{1,2}', '{f}')$$, '22023', 'release_tasks: 1 run_ids, 1 step_slugs, 1 task_indexes, 2 claim_nos',
  'arrays of different length are refused');
select throws_ok($$select pg_temp.release(1, '{1}', '{1}', '{f,f}')$$, '22023', null, 'so is started of another length');
select throws_ok($$select pg_temp.release(1, '{1}', '{1}', '{f}', -1)$$, '22023', null, 'and a negative delay');

select pgflow_test.show_all('f');
select count(*) from pgflow.read_and_claim_tasks('f', 100, 5, pgflow_test.w(1)) where task_index = 0;
select results_eq($$select r.* from pgflow.step_tasks t cross join pg_temp.release(1, '{1}', array[t.claim_no], '{null}') r where t.task_index = 1$$,
  $$values (1, 'released')$$, 'a release that does not say whether the handler had started is one');
select is((select released_count from pgflow.step_tasks where task_index = 1), 1, 'and counts no start');

-- a message that is gone is sent anew
select pgmq.delete('f', (select msg_id from claim where task_index = 5));
select is((select outcome from pg_temp.release(1, '{5}', '{1}', '{f}')), 'released', 'a task without its message is released too');
select is((select m.message from pgflow.step_tasks t, pgflow_test.message('f', t.message_id) m where t.task_index = 5),
  jsonb_build_object('flow_slug', 'f', 'run_id', pgflow_test.w(101), 'step_slug', 'each', 'task_index', 5), 'its message is sent anew');

-- release_tasks_except
select pgflow_test.show_all('f');
select count(*) from pgflow.read_and_claim_tasks('f', 100, 5, pgflow_test.w(1));
create temp table holding as select task_index, claim_no from pgflow.step_tasks where status = 'started' and last_worker_id = pgflow_test.w(1);
select is((select count(*) from holding), 5::bigint, 'five tasks are claimed by worker 1, one by worker 2');
select is(pgflow.release_tasks_except(pgflow_test.w(1), array[pgflow_test.w(101), pgflow_test.w(101)], '{each,each}', '{1,2}',
  array[(select claim_no from holding where task_index = 1), 99]), 4, 'all but the claims named; another claim number names another claim');
select results_eq($$select task_index, last_worker_id from pgflow.step_tasks where status = 'started' order by 1$$,
  $$values (0, pgflow_test.w(2)), (1, pgflow_test.w(1))$$, 'the named one and the neighbour''s stay');
select results_eq($$select attempts_count, claim_no, released_count from pgflow.step_tasks where task_index = 3$$, $$values (0, 4, 0)$$,
  'given back uncounted: no handler had started');
select ok((select m.vt <= clock_timestamp() from pgflow.step_tasks t, pgflow_test.message('f', t.message_id) m where t.task_index = 3), 'visible at once');
select is(pgflow.release_tasks_except(pgflow_test.w(1), '{}', '{}', '{}', '{}'), 1, 'nothing held: everything is given back');
select is(pgflow.release_tasks_except(pgflow_test.w(99), '{}', '{}', '{}', '{}'), 0, 'an unknown worker has nothing');
select throws_ok($$select pgflow.release_tasks_except(pgflow_test.w(1), array[pgflow_test.w(1)], '{}', '{}', '{}')$$, '22023', null,
  'arrays of different length are refused');

select * from finish();
rollback;
