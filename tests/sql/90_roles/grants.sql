-- Every function of schema pgflow: its search_path, its grants, and nothing to PUBLIC.
begin;
select plan(18);

create temporary view routine as
select p.oid, p.oid::regprocedure as signature, p.proname, p.prorettype, p.prosecdef, p.proconfig, p.prokind,
       coalesce(p.proacl, acldefault('f', p.proowner)) as acl, p.proowner
from pg_proc p
where p.pronamespace = 'pgflow'::regnamespace;

create temporary view execute_grant as
select r.signature, r.proname, case when a.grantee = 0 then 'PUBLIC' else a.grantee::regrole::text end as role_name
from routine r cross join aclexplode(r.acl) a
where a.privilege_type = 'EXECUTE' and a.grantee <> r.proowner;

select is_empty(
  $$ select signature from routine where not coalesce('search_path=pg_catalog, pg_temp' = any (proconfig), false) $$,
  'every function pins its search_path, with pg_temp last');
select is_empty(
  $$ select p.oid::regprocedure from pg_proc p join pgflow._own_functions() as o (routine) on o.routine = p.oid
     where not coalesce('search_path=pg_catalog, pg_temp' = any (p.proconfig), false) $$,
  'so do those of the embedded queue');
select is_empty($$ select signature from execute_grant where role_name = 'PUBLIC' $$, 'no function is granted to PUBLIC');
select is_empty($$ select signature, role_name from execute_grant where proname ~ '^_' $$, 'internal functions are granted to nobody');
select is_empty($$ select signature from routine where proname ~ '^_' and prosecdef and prorettype <> 'trigger'::regtype $$,
  'and run with the rights of their caller, but for triggers, which nobody calls');
select is_empty($$ select signature from routine where proname !~ '^_' and not prosecdef $$, 'every function of the API is security definer');
select is_empty($$ select signature from routine where prokind <> 'f' $$, 'there are no procedures and aggregates');
select set_eq(
  $$ select distinct proname::text from execute_grant where role_name = 'pgflow_worker' $$,
  array['ensure_deployment', 'offer_activation', 'track_worker_function', 'worker_function_state', 'worker_fence', 'register_worker', 'heartbeat',
        'mark_worker_stopped', 'note_coverage_gap', 'queue_coverage', 'missing_coverage', 'drain_status', 'draining_runs', 'queue_stats',
        'queue_tasks', 'queue_overview', 'database_metrics', 'host_status', 'schema_version',
        'claim_tasks', 'read_and_claim_tasks', 'finish_tasks', 'release_tasks', 'release_tasks_except', 'warm_up', 'begin_idle', 'end_idle', 'maintain'],
  'a worker may call what a host calls, and nothing else');
select set_eq(
  $$ select distinct proname::text from execute_grant where role_name = 'pgflow_client' $$,
  array['start_flow', 'start_flows', 'start_flow_with_states', 'get_run_with_states'],
  'a client may start runs and look at one by its id');
select set_eq(
  $$ select proname::text from execute_grant where role_name = 'pgflow_operator' $$,
  $$ select proname::text from routine
     where proname !~ '^_'
       and proname not in (
             'ensure_deployment', 'offer_activation', 'track_worker_function', 'register_worker', 'heartbeat', 'mark_worker_stopped', 'note_coverage_gap',
             'claim_tasks', 'read_and_claim_tasks', 'finish_tasks', 'release_tasks', 'release_tasks_except', 'warm_up', 'begin_idle', 'end_idle', 'maintain') $$,
  'an operator may call the rest, what shows the system, and what a client may');
select is_empty(
  $$ select role_name from execute_grant where role_name not in ('pgflow_worker', 'pgflow_client', 'pgflow_operator') $$,
  'nobody else has anything');

create temporary view relation_grant as
select c.relname, case when a.grantee = 0 then 'PUBLIC' else a.grantee::regrole::text end as role_name, a.privilege_type
from pg_class c cross join aclexplode(coalesce(c.relacl, acldefault('r', c.relowner))) a
where c.relnamespace = 'pgflow'::regnamespace and c.relkind in ('r', 'v', 'p', 'S') and a.grantee <> c.relowner;

select is_empty($$ select * from relation_grant where role_name in ('PUBLIC', 'pgflow_worker') $$, 'neither PUBLIC nor a worker reads a table');
select set_eq($$ select relname::text, privilege_type from relation_grant where role_name = 'pgflow_client' $$,
  $$ values ('flows', 'SELECT'), ('steps', 'SELECT') $$, 'a client reads flows and steps');
select set_eq($$ select relname::text, privilege_type from relation_grant where role_name = 'pgflow_operator' $$,
  $$ select c.relname::text, 'SELECT' from pg_class c where c.relnamespace = 'pgflow'::regnamespace and c.relkind in ('r', 'v', 'p') $$,
  'an operator reads every table and writes none');
select set_eq(
  $$ select a.grantee::regrole::text, a.privilege_type from pg_namespace n cross join aclexplode(n.nspacl) a
     where n.nspname = 'pgflow' and a.grantee <> n.nspowner $$,
  $$ values ('pgflow_worker', 'USAGE'), ('pgflow_client', 'USAGE'), ('pgflow_operator', 'USAGE') $$,
  'the three roles may use the schema, PUBLIC may not');
select is_empty(
  $$ select n.nspname, a.privilege_type from pg_namespace n cross join aclexplode(coalesce(n.nspacl, acldefault('n', n.nspowner))) a
     where n.nspname = 'pgmq' and a.grantee <> n.nspowner $$,
  'nobody but the owner may use the queues');
select is_empty(
  $$ select t.typname from pg_type t left join pg_class c on c.oid = t.typrelid
     cross join aclexplode(coalesce(t.typacl, acldefault('T', t.typowner))) a
     where t.typnamespace = 'pgflow'::regnamespace and t.typtype in ('c', 'e', 'd') and coalesce(c.relkind, 'c') = 'c' and a.grantee = 0 $$,
  'PUBLIC may not use the types');
select results_eq(
  $$ select rolname::text collate "default", rolcanlogin, rolsuper, rolcreaterole, rolcreatedb, rolbypassrls from pg_roles where rolname like 'pgflow\_%' order by 1 $$,
  $$ values ('pgflow_client'::text, false, false, false, false, false), ('pgflow_operator', false, false, false, false, false),
            ('pgflow_worker', false, false, false, false, false) $$,
  'the roles cannot log in and have no other rights');

select * from finish();
rollback;
