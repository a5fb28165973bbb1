-- What the needs of a database cost: 20 versions on one queue, :open runs open, each with every
-- step but the last passed, and :ended runs of the same flows that ended. Run by hand:
--   tests/support/with-postgres tests/bench/needs/run
\set ON_ERROR_STOP on
\pset pager off
set client_min_messages = warning;
select count(*) as flows from (
  select pgflow.ensure_deployment(jsonb_build_object(
    'flowSlug', 'v' || n, 'alias', 'v', 'queueMode', 'routed',
    'routes', '{"a": "q", "b": "q", "c": "q", "d": "q", "e": "q"}'::jsonb,
    'options', '{}'::jsonb,
    'steps', (select jsonb_agg(jsonb_build_object(
                'slug', s.slug, 'dependencies',
                case s.place when 1 then '[]'::jsonb else jsonb_build_array(chr(95 + s.place::int)) end) order by s.place)
              from unnest('{a,b,c,d,e}'::text[]) with ordinality as s (slug, place))))
  from generate_series(1, 20) as n) as made;

set session_replication_role = replica;
set synchronous_commit = off;
create temporary table run as
select gen_random_uuid() as run_id, 'v' || (n % 20 + 1) as flow_slug, n > :ended as open
from generate_series(1, :ended + :open) as n;
insert into pgflow.runs (run_id, flow_slug, status, input, output, remaining_steps, started_at, completed_at)
select r.run_id, r.flow_slug, case when r.open then 'started' else 'completed' end, '{}', case when not r.open then '{}'::jsonb end,
       case when r.open then 1 else 0 end, now(), case when not r.open then now() end
from run r;
insert into pgflow.step_states (flow_slug, run_id, step_slug, status, remaining_tasks, initial_tasks, created_at, started_at, completed_at)
select r.flow_slug, r.run_id, s.slug, case when r.open and s.slug = 'e' then 'started' else 'completed' end,
       case when r.open and s.slug = 'e' then 1 else 0 end, 1, now(), now(), case when not (r.open and s.slug = 'e') then now() end
from run r cross join unnest('{a,b,c,d,e}'::text[]) as s (slug);
insert into pgflow.step_tasks (flow_slug, run_id, step_slug, queue_name, message_id, queued_at)
select r.flow_slug, r.run_id, 'e', 'q', row_number() over (), now() from run r where r.open;
reset session_replication_role;
vacuum analyze pgflow.runs, pgflow.step_states, pgflow.step_tasks;

\timing on
explain (analyze, buffers, costs off, summary off) select * from pgflow._coverage_needs('q');
select count(*) from pgflow._coverage_needs('q');
explain (analyze, buffers, costs off, summary off) select pgflow.needs_snapshot();
select length(pgflow.needs_snapshot()::text);
select * from pgflow.queue_coverage('q') where flow_slug in ('v7', 'v20') order by 1, 2;
explain (analyze, buffers, costs off, summary off) select * from pgflow_before._coverage_needs('q');
