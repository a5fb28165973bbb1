-- queue_overview and database_metrics: every queue and function, whoever lives.
begin;
select plan(9);

select is(pgflow.database_metrics(), '', 'a database without queues and functions has no metrics');

select pgflow.ensure_deployment(pgflow_test.deployment('f', null, 'routed', '{a,b}', '{"a": "q", "b": "other"}'));
select pgflow_test.put_task(pgflow_test.put_run('f'), 'a');
update pgmq.q_q set vt = clock_timestamp() - interval '10 minutes';
update pgflow.step_tasks set queued_at = clock_timestamp() - interval '10 minutes';
select pgflow.track_worker_function(name, 'process') from unnest(array['q_hosts', E'odd "\\\n name']) as name;

create temporary view overview as
select queue_name, is_needed, ready, delayed, started, working, standby, silent from pgflow.queue_overview();

select results_eq('select * from overview',
  $$ values ('other'::text, true, 0::bigint, 0::bigint, 0::bigint, 0::bigint, 0::bigint, 0::bigint),
            ('q', true, 1, 0, 0, 0, 0, 0) $$,
  'a queue that nobody serves is there, with what waits on it');
select ok((select oldest_age between interval '10 minutes' and interval '11 minutes' from pgflow.queue_overview() where queue_name = 'q'),
  'and with for how long');

select pgflow.register_worker(pgflow_test.w(1), 'Q', 'q_hosts', pgflow_test.pairs('f/a')),
       pgflow.register_worker(pgflow_test.w(2), 'q', 'q_hosts', pgflow_test.pairs('f/a')),
       pgflow.register_worker(pgflow_test.w(3), 'q', 'q_hosts', '{}', standby => true),
       pgflow.register_worker(pgflow_test.w(4), 'q', 'q_hosts', pgflow_test.pairs('f/a'));
update pgflow.workers set last_heartbeat_at = clock_timestamp() - interval '16 seconds' where worker_id = pgflow_test.w(2);
select pgflow.mark_worker_stopped(pgflow_test.w(4));
select results_eq($$ select working, standby, silent from overview where queue_name = 'q' $$,
  $$ values (1::bigint, 1::bigint, 1::bigint) $$, 'live workers, those standing by, and those that went silent are counted');
update pgflow.workers set deprecated_at = clock_timestamp() where worker_id = pgflow_test.w(2);
select is((select silent from overview where queue_name = 'q'), 0::bigint, 'who was deprecated may be silent');

update pgflow.runs set status = 'cancelled', failed_at = clock_timestamp();
delete from pgflow.flow_aliases;
select is((select bool_or(is_needed) from overview), false,
  'without a started run and an active version no queue is needed');

update pgflow.worker_functions set enabled = false, paused_at = clock_timestamp() where function_name = 'q_hosts';
select ok(position(E'\npgflow_database_queue_workers{queue="q",state="working"} 1\n' in pgflow.database_metrics()) > 0,
  'the metrics have a line a queue and state');
select ok(position(E'\npgflow_database_function_enabled{function="odd \\"\\\\\\n name"} 1\n' in pgflow.database_metrics()) > 0,
  'a name cannot break its line');
select ok(position(E'\npgflow_database_function_paused{function="q_hosts"} 1\n' in pgflow.database_metrics()) > 0,
  'a paused function is shown as paused');

select * from finish();
rollback;
