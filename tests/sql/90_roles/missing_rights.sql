-- An owner that may not create roles: a warning with the statements, and a system
-- that works for the owner; the rest follows once the roles are there.
begin;
select plan(6);

-- The roles of the cluster get out of the way for this transaction.
alter role pgflow_worker rename to pgflow_test_hidden_worker;
create role pgflow_test_owner nosuperuser nocreaterole;
do $$
declare
  item text;
begin
  for item in
    select format('alter function %s owner to pgflow_test_owner', p.oid::regprocedure) from pg_proc p where p.pronamespace = 'pgflow'::regnamespace
    union all
    select format('alter table %s owner to pgflow_test_owner', c.oid::regclass) from pg_class c where c.relnamespace = 'pgflow'::regnamespace and c.relkind = 'r'
    union all
    select format('alter type %s owner to pgflow_test_owner', t.oid::regtype) from pg_type t join pg_class c on c.oid = t.typrelid
      where t.typnamespace = 'pgflow'::regnamespace and c.relkind = 'c'
    union all
    select 'alter schema pgflow owner to pgflow_test_owner'
  loop
    execute item;
  end loop;
end $$;
grant pgflow_test_owner to current_user;

set local role pgflow_test_owner;
set local client_min_messages = error;
select is(pgflow._create_roles(), '{pgflow_worker}', 'says which roles are still missing');
select lives_ok($$ select pgflow._apply_roles() $$, 'and is no failure');
select ok((select prosecdef from pg_proc where oid = 'pgflow.ensure_deployment(jsonb, text[])'::regprocedure), 'the functions are set up');
select ok(has_function_privilege('pgflow_operator', 'pgflow.retire_flow(text)', 'execute'), 'the roles that exist have their grants');
reset role;

create role pgflow_worker nologin;
set local role pgflow_test_owner;
select pgflow._apply_roles();
select ok(has_function_privilege('pgflow_worker', 'pgflow.heartbeat(uuid, uuid[], pgflow.task_pair[])', 'execute'),
  'once somebody made the role, the same call grants what is due');
select ok(not has_function_privilege('pgflow_worker', 'pgflow.retire_flow(text)', 'execute'), 'and no more');
reset role;

select * from finish();
rollback;
