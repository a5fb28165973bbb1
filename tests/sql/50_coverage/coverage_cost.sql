-- What coverage costs does not grow with the versions that were retired.
begin;
select plan(5);

-- Rows read by this transaction from the tables of definitions and work.
create function pg_temp.rows_read()
returns bigint
language sql
volatile
as $$
  select sum(pg_stat_get_xact_tuples_returned(c.oid) + pg_stat_get_xact_tuples_fetched(c.oid))::bigint
  from pg_class c
  where c.relnamespace = 'pgflow'::regnamespace and c.relkind in ('r', 'i')
$$;
create temporary table reading (name text, n bigint);
create function pg_temp.measure(name text)
returns void
language plpgsql
as $$
declare
  before bigint;
begin
  before := pg_temp.rows_read();
  perform from pgflow.queue_coverage('q');
  perform from pgflow.missing_coverage('q', '{}');
  insert into reading values (name, pg_temp.rows_read() - before);
end
$$;
-- Written as they stand after retirement and vacuum: this transaction's own dead rows
-- would be read by index scans until it ends.
create function pg_temp.add_retired_version(n int)
returns void
language plpgsql
as $$
begin
  insert into pgflow.flows (flow_slug, alias, queue_mode, retired_at) values ('old' || n, 'v', 'routed', clock_timestamp());
  insert into pgflow.steps (flow_slug, step_slug, step_index, deps_count, queue_name)
  values ('old' || n, 'a', 0, 0, 'q'), ('old' || n, 'b', 1, 1, 'q');
  insert into pgflow.deps (flow_slug, dep_slug, step_slug) values ('old' || n, 'a', 'b');
  insert into pgflow.runs (run_id, flow_slug, status, input, output, completed_at, started_at)
  select gen_random_uuid(), 'old' || n, 'completed', '{}', '{}', t.moment, t.moment from clock_timestamp() as t (moment);
end
$$;

select pgflow.ensure_deployment(pgflow_test.deployment('now', 'v', 'routed', '{a,b<a}', '{"a": "q", "b": "q"}'));
select pgflow_test.put_task(pgflow_test.put_run('now'), 'a') from generate_series(1, 5);
select pg_temp.add_retired_version(n) from generate_series(1, 2) as n;
-- Rows that other files rolled back are read until an index scan has marked them as
-- dead: the first readings are the higher ones.
select from pgflow.queue_coverage('q');
select from pgflow.missing_coverage('q', '{}');
select pg_temp.measure('two, no statistics');
analyze pgflow.flows, pgflow.flow_aliases, pgflow.steps, pgflow.runs, pgflow.step_states, pgflow.step_tasks;
select pg_temp.measure('two');
select pg_temp.add_retired_version(n) from generate_series(3, 300) as n;
select pg_temp.measure('300, old statistics');
analyze pgflow.flows, pgflow.flow_aliases, pgflow.steps, pgflow.runs, pgflow.step_states, pgflow.step_tasks;
select pg_temp.measure('300');

select is((select count(*) from pgflow.flows where retired_at is not null), 300::bigint, '300 versions are retired');
select results_eq($$ select * from pgflow.queue_coverage('q') $$,
  $$ values ('now'::text, 'a'::text, '{active,draining,executable}'::text[]), ('now', 'b', '{active,draining}') $$,
  'the answer is about the one in service');
select ok((select n between 1 and 200 from reading where name = 'two, no statistics'), 'with two retired versions a few rows are read');
select cmp_ok((select n from reading where name = '300, old statistics'), '<=', (select n from reading where name = 'two'),
  'with 300 no more than with two');
select cmp_ok((select n from reading where name = '300'), '<=', (select n from reading where name = 'two'),
  'nor when the planner knows about them');

select * from finish();
rollback;
