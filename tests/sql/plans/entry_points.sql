-- The rules of docs/internals/sql-engine.md, plans, as far as the text of a function shows them. What it costs is
-- measured by plans_test.py.
begin;
select plan(3);

create temp view routine as
select p.oid, p.oid::regprocedure::text as signature, p.proname as name, p.prosrc as source,
       p.proconfig @> array['plan_cache_mode=force_generic_plan', 'enable_seqscan=off', 'enable_bitmapscan=off',
                            'enable_hashjoin=off', 'enable_mergejoin=off', 'jit=off'] as is_door,
       p.prosrc ~ '\mpgflow\.(runs|step_states|step_tasks)\M' as reads_rows
from pg_proc p
where p.pronamespace = 'pgflow'::regnamespace;

create temp table called as
select distinct r.oid as caller, c.oid as callee
from routine r
cross join lateral regexp_matches(r.source, '\mpgflow\.(\w+)\(', 'g') m
join routine c on c.name = m[1];

-- Rare calls of operators: each may read a table as a whole, and says so where that takes long.
create temp table rare (name) as values
  ('add_step'), ('apply_flow_options'), ('create_flow'), ('delete_flow_and_data'), ('delete_unused_flow'), ('ensure_deployment'),
  ('ensure_flow_compiled');

create temp view way as
with recursive way (entry, oid) as (
  select r.oid, r.oid
  from routine r
  where r.oid in (select g.routine from pgflow._api_grants() g) and r.name not in (select name from rare)
  union
  select w.entry, c.callee
  from way w
  join routine r on r.oid = w.oid and not coalesce(r.is_door, false)
  join called c on c.caller = w.oid
)
select * from way;

select is_empty(
  $$ select d.signature, r.signature from way w join routine d on d.oid = w.entry join routine r on r.oid = w.oid
     where r.reads_rows and not coalesce(r.is_door, false) order by 1, 2 $$,
  'who reads runs, states or tasks for a caller does so under the settings that leave one plan');

select is_empty(
  $$ select r.signature, m[1] from routine r
     cross join lateral regexp_matches(r.source,
       '(\mjoin\s+pgflow\.(?:runs|step_states|step_tasks)\M\s+\w+(?:\s+on\s+(?!\w+\.run_id = any \(array\[)[^\n]*|\s+using[^\n]*))', 'g') m
     where r.name not in ('_delete_flow') order by 1, 2 $$,
  'runs, states and tasks are joined by key in a fence, or as the target of one source');

select is_empty(
  $$ select r.signature, m[1] from routine r
     cross join lateral regexp_matches(r.source, '((?:order|group) by t\.run_id[^\n]*\n\s*for (?:no key )?update)', 'g') m
     where r.name not in ('_delete_flow', '_note_lost_tasks') order by 1, 2 $$,
  'rows are locked in the order of their source, not in that of an index');

select * from finish();
rollback;
