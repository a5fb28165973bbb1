-- queue_coverage and missing_coverage: which pairs a queue must be served for.
begin;
select plan(20);

select pgflow.ensure_deployment(pgflow_test.deployment('v1', 'v', 'routed', '{a,b<a,c<b}', '{"a": "q", "b": "q", "c": "other"}'));
select pgflow.ensure_deployment(pgflow_test.deployment('v2', 'v', 'routed', '{a,b<a,c<b}', '{"a": "q", "b": "q", "c": "other"}'));
select pgflow.create_flow('plain');
select pgflow.add_step('plain', 'p', queue_name => 'q');

select is_empty($$ select from pgflow.queue_coverage('unknown') $$, 'a queue that is not known has no pairs');
select results_eq($$ select * from pgflow.queue_coverage('q') $$,
  $$ values ('plain'::text, 'p'::text, '{active}'::text[]), ('v1', 'a', '{active}'), ('v1', 'b', '{active}') $$,
  'active: the steps that active versions have on this queue');
select results_eq($$ select * from pgflow.queue_coverage('OTHER') $$, $$ values ('v1'::text, 'c'::text, '{active}'::text[]) $$,
  'whatever the spelling of its name');

-- Draining
create temporary table run as select pgflow_test.put_run('v1') as id;
select pgflow.activate_flow('v', 'v2', true);
select results_eq($$ select * from pgflow.queue_coverage('q') where flow_slug = 'v1' $$,
  $$ values ('v1'::text, 'a'::text, '{draining}'::text[]), ('v1', 'b', '{draining}') $$,
  'draining: a started run may still reach the step, although no task is there yet');
update pgflow.step_states set status = 'completed', remaining_tasks = 0, started_at = created_at, completed_at = created_at
where step_slug = 'a';
select results_eq($$ select * from pgflow.queue_coverage('q') where flow_slug = 'v1' $$,
  $$ values ('v1'::text, 'b'::text, '{draining}'::text[]) $$, 'a step that the run has passed is not needed');
update pgflow.step_states set status = 'skipped', skip_reason = 'condition_unmet', skipped_at = created_at, remaining_deps = 0
where step_slug = 'c';
select is_empty($$ select from pgflow.queue_coverage('other') where flow_slug = 'v1' $$, 'nor is one that it skipped');

-- Executable and recoverable
select pgflow_test.put_task(id, 'b') from run;
select results_eq($$ select * from pgflow.queue_coverage('q') where flow_slug = 'v1' $$,
  $$ values ('v1'::text, 'b'::text, '{draining,executable}'::text[]) $$, 'executable: a queued task');
update pgflow.step_tasks set status = 'started', started_at = queued_at, recover_at = queued_at;
select results_eq($$ select * from pgflow.queue_coverage('q') where flow_slug = 'v1' $$,
  $$ values ('v1'::text, 'b'::text, '{draining,recoverable}'::text[]) $$, 'recoverable: a started task');
update pgflow.runs set status = 'failed', failed_at = started_at;
select results_eq($$ select * from pgflow.queue_coverage('q') where flow_slug = 'v1' $$,
  $$ values ('v1'::text, 'b'::text, '{recoverable}'::text[]) $$, 'a task counts by itself, whatever its run says');
update pgflow.step_tasks set status = 'cancelled', recover_at = null;
select is_empty($$ select from pgflow.queue_coverage('q') where flow_slug = 'v1' $$, 'an ended run needs nothing');

-- Missing
select pgflow_test.put_task(r.id, 'a'), pgflow_test.put_task(r.id, 'b', 'started')
from (select pgflow_test.put_run('v2') as id from generate_series(1, 3)) as r;
select pgflow_test.put_run('v2');
select results_eq($$ select * from pgflow.missing_coverage('q', '{}') $$,
  $$ values ('plain'::text, 'p'::text, '{active}'::text[], '{1}'::bigint[]),
            ('v2', 'a', '{active,draining,executable}', '{1,4,3}'), ('v2', 'b', '{active,draining,recoverable}', '{1,4,3}') $$,
  'says what stands behind each reason: runs or tasks');
select results_eq($$ select flow_slug, step_slug from pgflow.missing_coverage('Q', array[('v2', 'a'), ('plain', 'p')]::pgflow.task_pair[]) $$,
  $$ values ('v2'::text, 'b'::text) $$, 'supported pairs are not missing');
select is_empty($$ select from pgflow.missing_coverage('q', array[('v2', 'a'), ('v2', 'b'), ('plain', 'p'), ('x', 'y')]::pgflow.task_pair[]) $$,
  'no rows: covered; pairs that nobody needs do no harm');
select isnt_empty($$ select from pgflow.missing_coverage('q', array[('v1', 'a'), ('V2', 'b')]::pgflow.task_pair[]) where flow_slug = 'v2' and step_slug = 'b' $$,
  'a flow-level match is not enough, and slugs are case sensitive');
select is((select count(*) from pgflow.missing_coverage('q', null)), 3::bigint, 'null supports nothing');

-- Retired
select pgflow.retire_flow('plain');
select is_empty($$ select from pgflow.queue_coverage('q') where flow_slug = 'plain' $$,
  'a retired flow is no active target, although it is its own alias');
select pgflow.retire_flow('v1');
select is((select count(*) from pgflow.queue_coverage('q')), 2::bigint, 'and needs nothing');

-- Many pairs and many tasks: hopping from pair to pair finds all of them
do $$
begin
  perform pgflow.ensure_deployment(pgflow_test.deployment('h' || f, null, 'routed', '{a,b,c}', '{"a": "hop", "b": "hop", "c": "away"}'))
  from generate_series(1, 5) as f;
  perform pgflow_test.put_task(r.id, 'a'), pgflow_test.put_task(r.id, 'b'), pgflow_test.put_task(r.id, 'c')
  from (select pgflow_test.put_run('h' || f) as id from generate_series(1, 5) as f, generate_series(1, 4)) as r;
end $$;
select is((select count(*) from pgflow.queue_coverage('hop') where 'executable' = any (reasons)), 10::bigint,
  'every pair with queued tasks is found');
select is((select count(*) from pgflow.queue_coverage('away') where 'executable' = any (reasons)), 5::bigint,
  'on its own queue only');
select is_empty($$ select from pgflow.queue_coverage('hop') where step_slug = 'c' $$, 'and not on another');

select * from finish();
rollback;
