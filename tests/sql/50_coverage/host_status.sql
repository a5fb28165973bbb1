-- host_status: what the status page shows.
begin;
select plan(9);

select is(pgflow.host_status('q', '{}'), '{"queue": [], "flows": [], "workers": [], "failures": []}'::jsonb,
  'nothing is there: empty lists');

select pgflow.ensure_deployment(pgflow_test.deployment(v, 'f', 'routed', '{a,b<a}', '{"a": "q", "b": "other"}'))
from unnest(array['f_v1', 'f_v2']) v;
select pgflow.register_worker(pgflow_test.w(1), 'q', 'fn', pgflow_test.pairs('f_v1/a', 'f_v2/a'),
  '{"host": "one", "pid": 7, "version": "1"}');
select pgflow.start_flow('f_v1', '{"secret": "of the input"}', pgflow_test.w(101));
select pgflow.start_flow('f_v2', '{}', pgflow_test.w(102));
create temp view status as select pgflow.host_status('Q', '{f_v1,f_v2}') as s;

select is(s -> 'flows' #> '{0,steps}', '[{"step": "a", "type": "single", "queue": "q", "here": true, "after": [], "queued": 1, "started": 0},
  {"step": "b", "type": "single", "queue": "other", "here": false, "after": ["a"], "queued": 0, "started": 0}]'::jsonb,
  'steps come with routes, dependencies and counts') from status;
select is(s -> 'flows' -> 0 ->> 'flow', 'f_v1', 'versions of an alias in the order of their compilation') from status;
select is(concat_ws(' ', s #>> '{flows,0,active}', s #>> '{flows,1,active}', s #>> '{flows,1,startedRuns}'), 'true false 1',
  'drain counts the versions that are not active') from status;
select is(jsonb_array_length(s -> 'queue'), 2, 'the queue is there by pair') from status;
select is((s #> '{workers,0}') - 'worker'::text, '{"function": "fn", "host": "one", "pid": "7", "version": "1", "standby": false,
  "fence": null, "deprecated": false, "live": true, "heartbeatSeconds": 0}'::jsonb, 'a worker of the queue, whatever its case') from status;

select is(count(*), 2::bigint, 'two tasks to fail')
from pgflow.read_and_claim_tasks('q', 10, 5, pgflow_test.w(1)) c,
lateral pgflow.finish_tasks(pgflow_test.w(1), array[c.run_id], array[c.step_slug], array[c.task_index], array[c.claim_no],
  '{permanent}', array[null::text], array[repeat('x', 600)]);
select is(concat_ws(' ', jsonb_array_length(s -> 'failures'), s #>> '{failures,0,step}', length(s #>> '{failures,0,error}'), right(s #>> '{failures,0,error}', 4)), '2 a 500 x...',
  'failures have the words of the handler, and show where they were cut') from status;
select unalike(s::text, '%of the input%', 'and no input') from status;

select * from finish();
rollback;
