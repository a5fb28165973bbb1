-- A step that many open runs have passed is needed exactly while a run may still reach it, and
-- asking reads no run that has passed it.
begin;
select plan(11);

select pgflow.ensure_deployment(pgflow_test.deployment('f', 'f', 'routed', '{a,b<a,c<b,d<c,x,y<x}',
  '{"a": "q", "b": "q", "c": "q", "d": "last", "x": "other", "y": "q"}'));
select pgflow.retire_flow('f') where false;
create function pg_temp.draining() returns text[] language sql as $$
  select array_agg(c.step_slug order by c.step_slug) from pgflow.queue_coverage('q') c
  where c.flow_slug = 'f' and 'draining' = any (c.reasons)
$$;
create function pg_temp.pass(run uuid, steps text[]) returns void language sql as $$
  update pgflow.step_states s
  set status = 'completed', remaining_tasks = 0, remaining_deps = 0, started_at = created_at, completed_at = created_at
  where s.run_id = run and s.step_slug = any (steps)
$$;
create temporary table run as select n, pgflow_test.put_run('f') as id from generate_series(1, 100) as n;
select pg_temp.pass(id, '{a,b,c,x,y}') from run;
select pgflow_test.put_task(id, 'd') from run;
select is(pg_temp.draining(), null, 'a hundred runs have passed what this queue serves');
select is((select array_agg(step_slug) from pgflow.queue_coverage('last') where 'draining' = any (reasons)), '{d}',
  'and wait for the last step, on another queue');

-- One that came late, behind the first ones of the index.
create temporary table late as select pgflow_test.put_run('f') as id;
select pg_temp.pass(id, '{x,y}') from late;
select pgflow_test.put_task(id, 'a') from late;
select is(pg_temp.draining(), '{a,b,c}', 'one run at the first step needs that and what follows');
update pgflow.step_tasks t set status = 'started', started_at = queued_at, recover_at = queued_at
from late where t.run_id = late.id;
select is(pg_temp.draining(), '{a,b,c}', 'also while the task is started');
update pgflow.step_states s set status = 'skipped', skip_reason = 'dependency_skipped', skipped_at = created_at
from late where s.run_id = late.id and s.step_slug = 'b';
select is(pg_temp.draining(), '{a,c}', 'a step that it skipped is not needed, one behind it is');
update pgflow.step_tasks t set status = 'completed', recover_at = null, completed_at = started_at from late where t.run_id = late.id;
select pg_temp.pass(id, '{a}') from late;
select pgflow_test.put_task(id, 'c') from late;
select is(pg_temp.draining(), '{c}', 'what it has passed is not needed any more');

-- A branch on a queue of its own.
update pgflow.step_states s set status = 'created', completed_at = null, started_at = null, remaining_tasks = null
from late where s.run_id = late.id and s.step_slug in ('x', 'y');
select pgflow_test.put_task(id, 'x') from late;
select is(pg_temp.draining(), '{c,y}', 'a task on another queue keeps what follows it here');
update pgflow.runs r set status = 'failed', failed_at = started_at from late where r.run_id = late.id;
select is(pg_temp.draining(), null, 'a run that ended reaches nothing, whatever its tasks say');

-- Cost
create function pg_temp.rows_read() returns bigint language sql volatile as $$
  select sum(pg_stat_get_xact_tuples_returned(c.oid) + pg_stat_get_xact_tuples_fetched(c.oid))::bigint
  from pg_class c where c.relnamespace = 'pgflow'::regnamespace and c.relkind in ('r', 'i')
$$;
create temporary table reading (n bigint);
create function pg_temp.measure() returns void language plpgsql as $$
declare before bigint;
begin
  perform from pgflow.queue_coverage('q');
  before := pg_temp.rows_read();
  perform from pgflow.queue_coverage('q');
  insert into reading values (pg_temp.rows_read() - before);
end
$$;
delete from pgflow.step_tasks t using late where t.run_id = late.id;
select pg_temp.measure();
create temporary table more as select pgflow_test.put_run('f') as id from generate_series(1, 900);
select pg_temp.pass(id, '{a,b,c,x,y}') from more;
select pgflow_test.put_task(id, 'd') from more;
select pg_temp.measure();
select is((select count(*) from pgflow.runs where status = 'started'), 1000::bigint, 'now a thousand runs are open');
select is(pg_temp.draining(), null, 'and all have passed what this queue serves');
select cmp_ok((select max(n) from reading), '<=', (select min(n) + 20 from reading), 'reading no more for that');

select * from finish();
rollback;
