-- run_waits: what the live tasks of a run wait for.
begin;
select plan(11);

select pgflow.ensure_deployment(pgflow_test.deployment('f', null, 'routed', '{a,b}', '{"a": "q", "b": "other"}'));
select run_id as run from pgflow.start_flow('f', '{}') \gset
create function pg_temp.waits(of_run uuid) returns setof text language sql as $$
  select format('%s: %s %s, %s', step_slug, tasks, state, reason) from pgflow.run_waits(of_run)
$$;

select is(array(select pg_temp.waits(:'run')), array['a: 1 queued, queue q has no live worker', 'b: 1 queued, queue other has no live worker'],
  'a queue without a live worker is named');
select ok((select bool_and(since <= clock_timestamp() and since > now() - interval '1 minute' and until is null) from pgflow.run_waits(:'run')),
  'since when they can be claimed');

update pgmq.q_q set vt = now() + interval '1 hour';
select is((select array_agg(format('%s %s', state, until = now() + interval '1 hour')) from pgflow.run_waits(:'run') where step_slug = 'a'),
  array['delayed t'], 'a delayed task says until when');
update pgmq.q_q set vt = now();

select pgflow.track_worker_function('fn', 'process'),
       pgflow.register_worker(pgflow_test.w(1), 'q', 'fn', pgflow_test.pairs('f/b'), info => '{"host": "one", "pid": 7}');
select is((select reason from pgflow.run_waits(:'run') where step_slug = 'a'), 'no live worker of queue q supports this step',
  'workers of the queue that lack the step are named');
select pgflow.disable_worker_functions('{fn}');
select is((select reason from pgflow.run_waits(:'run') where step_slug = 'a'), 'no worker takes them: function fn is disabled',
  'a disabled function is named');
update pgflow.worker_functions set paused_at = clock_timestamp();
select is((select reason from pgflow.run_waits(:'run') where step_slug = 'a'),
  'no worker takes them: function fn is paused for want of a module', 'a paused function is named');
select pgflow.enable_worker_function('fn'),
       pgflow.register_worker(pgflow_test.w(2), 'q', 'fn', pgflow_test.pairs('f/a'), info => '{"host": "two", "pid": 8}');
select is((select reason from pgflow.run_waits(:'run') where step_slug = 'a'), 'they wait for a free slot', 'a task of a good worker waits its turn');

select pgflow.read_and_claim_tasks('q', 1, 30, pgflow_test.w(2));
select is((select state || ', ' || reason from pgflow.run_waits(:'run') where step_slug = 'a'),
  format('started, held by process 8 on two (worker %s)', pgflow_test.w(2)), 'a started task names who holds it');
update pgflow.workers set last_heartbeat_at = now() - interval '1 minute' where worker_id = pgflow_test.w(2);
select ok((select reason ~ 'without a heartbeat since' from pgflow.run_waits(:'run') where step_slug = 'a'), 'and that it is silent');
delete from pgmq.q_other;
select is((select reason from pgflow.run_waits(:'run') where step_slug = 'b'),
  'a message is gone; the next round of maintenance sends it again', 'a lost message is told');
select pgflow.cancel_run(:'run');
select is_empty(format('select from pgflow.run_waits(%L)', :'run'), 'a run that has ended waits for nothing');

select * from finish();
rollback;
