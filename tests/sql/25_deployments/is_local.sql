-- is_local, and what it allows.
begin;
select plan(9);

select ok(not pgflow.is_local(), 'a database is not local by itself');
set local pgflow.is_local = 'on';
set local app.settings.jwt_secret = 'super-secret-jwt-token-with-at-least-32-characters-long';
select ok(not pgflow.is_local(), 'a setting of the session does not make it local');

select pgflow.ensure_deployment(pgflow_test.deployment('v1', 'v'));
select is(pgflow.ensure_deployment(pgflow_test.deployment('v1', 'v', steps => '{b}')) ->> 'compilation', 'mismatch',
  'elsewhere a deployment never loses data');

do $$ begin execute format('alter database %I set pgflow.is_local = on', current_database()); end $$;
select ok(pgflow.is_local(), 'the owner of the database says that it is');
select is(pgflow.ensure_flow_compiled('v1', '{"steps": [{"slug": "c"}]}') ->> 'status', 'recompiled',
  'there a changed shape is compiled anew');
select is(
  pgflow.ensure_deployment(pgflow_test.deployment('v1', 'v', steps => '{b}')) - 'differences',
  '{"compilation": "recompiled", "activation": "active", "alias": "v", "activeFlowSlug": "v1", "queueMode": "flow", "optionDrift": []}',
  'so is a changed deployment, which stays active');
select is(
  pgflow.ensure_deployment(pgflow_test.deployment('v1', 'w', steps => '{b}')) - 'differences',
  '{"compilation": "recompiled", "activation": "activated", "alias": "w", "activeFlowSlug": "v1", "queueMode": "flow", "optionDrift": []}',
  'so is one that moved to another alias');
select is_empty($$ select from pgflow.flow_aliases where alias = 'v' $$, 'which it leaves');

do $$ begin
  execute format('alter database %I reset pgflow.is_local', current_database());
  execute format('alter database %I set app.settings.jwt_secret = %L', current_database(),
                 'super-secret-jwt-token-with-at-least-32-characters-long');
end $$;
select ok(pgflow.is_local(), 'a local Supabase stack is known by its secret');

select * from finish();
rollback;
