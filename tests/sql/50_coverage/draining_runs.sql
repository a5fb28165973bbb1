-- draining_runs: what is left of the versions that no alias points at.
begin;
select plan(4);

select pgflow.ensure_deployment(pgflow_test.deployment(v, 'f', 'routed', '{a}', '{"a": "q"}'))
from unnest(array['f_v1', 'f_v2']) v;
select count(pgflow_test.put_run('f_v1')), count(pgflow_test.put_run('f_v2')) from generate_series(1, 2);
select results_eq($$ select * from pgflow.draining_runs('{f_v2,f_v1}') $$,
  $$ values ('f_v1'::text, true, null::bigint), ('f_v2', false, 2) $$, 'runs are counted of versions that are not active');
select pgflow.activate_flow('f', 'f_v2', true);
select results_eq($$ select * from pgflow.draining_runs('{f_v1,f_v2}') $$,
  $$ values ('f_v1'::text, false, 2::bigint), ('f_v2', true, null) $$, 'a switch turns them about');
update pgflow.runs set status = 'cancelled', failed_at = clock_timestamp() where flow_slug = 'f_v1';
select results_eq($$ select started_runs from pgflow.draining_runs('{f_v1}') $$, 'values (0::bigint)', 'runs that ended are not counted');
select is_empty($$ select from pgflow.draining_runs('{unknown}') $$, 'a version that is not compiled has no row');

select * from finish();
rollback;
