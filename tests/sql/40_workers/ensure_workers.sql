-- ensure_workers and the cron names. net, cron and vault are small stand-ins with
-- the signatures of pg_net, pg_cron and the vault: none of them can be installed here.
begin;
select plan(27);
insert into pgflow.worker_functions (function_name, start_mode, enabled, last_invoked_at) values
  ('due', 'http', true, null), ('long_ago', 'http', true, '2020-01-01'), ('just_now', 'http', true, clock_timestamp()),
  ('off', 'http', false, null), ('served', 'http', true, null), ('host', 'process', true, null);
insert into pgflow.workers (worker_id, queue_name, function_name) values (pgflow_test.w(1), 'q', 'served');

select results_eq('select * from pgflow.ensure_workers()',
  $$values ('due', false, null::bigint), ('long_ago', false, null)$$,
  'without pg_net: those that are due are named, none is invoked');
select is((select count(*) from pgflow.worker_functions where last_invoked_at is null), 4::bigint, 'and no debounce starts');

create schema net;
create table net.requests (id bigint generated always as identity, url text, headers jsonb, body jsonb);
create function net.http_post(url text, body jsonb default '{}', params jsonb default '{}',
  headers jsonb default '{}', timeout_milliseconds int default 5000)
returns bigint language sql as $$ insert into net.requests (url, headers, body) values (url, headers, body) returning id $$;
select is((select bool_or(invoked) from pgflow.ensure_workers()), false, 'without an endpoint nothing is sent either');

set local pgflow.functions_url = 'http://functions.test/v1';
set local pgflow.functions_key = 'secret';
select results_eq('select * from pgflow.ensure_workers()',
  $$values ('due', true, 1::bigint), ('long_ago', true, 2)$$, 'with both each is invoked once');
select results_eq('select url from net.requests order by id',
  $$values ('http://functions.test/v1/due'), ('http://functions.test/v1/long_ago')$$, 'at its own address');
select is((select headers ->> 'Authorization' from net.requests where id = 1), 'Bearer secret', 'with the key');
select is_empty('select * from pgflow.ensure_workers()', 'the debounce holds the next one back');
update pgflow.worker_functions set debounce = '0 seconds' where function_name = 'due';
select results_eq('select function_name from pgflow.ensure_workers()', $$values ('due')$$, 'until it has passed');
insert into pgflow.workers (worker_id, queue_name, function_name) values (pgflow_test.w(2), 'q', 'due');
select is_empty('select * from pgflow.ensure_workers()', 'a live worker needs no other');
update pgflow.workers set deprecated_at = clock_timestamp() where worker_id = pgflow_test.w(2);
select results_eq('select function_name from pgflow.ensure_workers()', $$values ('due')$$,
  'a deprecated one does: the control of the enable fence');
select pgflow.disable_worker_functions('{due}');
select is_empty('select * from pgflow.ensure_workers()', 'a disabled function is never invoked');

set local pgflow.functions_url = '';
set local pgflow.functions_key = '';
create schema vault;
create table vault.decrypted_secrets (name text, decrypted_secret text);
insert into vault.decrypted_secrets values ('supabase_project_id', 'abc'), ('supabase_service_role_key', 'k');
select results_eq('select * from pgflow._functions_endpoint()',
  $$values ('https://abc.supabase.co/functions/v1', 'k')$$, 'the vault names project and key');
insert into vault.decrypted_secrets values ('pgflow_auth_secret', '');
select is((select key from pgflow._functions_endpoint()), 'k', 'an empty secret is none');
update vault.decrypted_secrets set decrypted_secret = 'own' where name = 'pgflow_auth_secret';
select is((select key from pgflow._functions_endpoint()), 'own', 'the secret for this comes first');
delete from vault.decrypted_secrets where name = 'pgflow_auth_secret';
set local pgflow.functions_url = 'http://elsewhere.test';
select results_eq('select * from pgflow._functions_endpoint()', $$values ('http://elsewhere.test', null::text)$$,
  'its key is never sent to an address that a session has set');
set local pgflow.functions_url = '';
set local pgflow.functions_key = 'mine';
select results_eq('select * from pgflow._functions_endpoint()', $$values (null::text, 'mine')$$, 'nor is another key to its address');
update pgflow.worker_functions set enabled = true, last_invoked_at = null where function_name = 'due';
select is((select bool_or(invoked) from pgflow.ensure_workers()), false, 'half an endpoint is none');
set local pgflow.functions_key = '';

-- cron
select is(pgflow.setup_ensure_workers_cron(), 'Nothing scheduled: pg_cron is not installed', 'without pg_cron: a notice');
select is(pgflow.setup_requeue_stalled_tasks_cron(), 'Nothing scheduled: pg_cron is not installed', 'for both');
select results_eq('select * from pgflow.cleanup_ensure_workers_logs()', 'values (0::bigint)', 'and nothing to clean up');

create schema cron;
create table cron.job (jobid bigint generated always as identity, jobname text, schedule text, command text);
create table cron.job_run_details (jobid bigint, end_time timestamptz);
create function cron.schedule(job_name text, schedule text, command text) returns bigint language sql as
  $$ insert into cron.job (jobname, schedule, command) values (job_name, schedule, command) returning jobid $$;
create function cron.unschedule(job_id bigint) returns boolean language sql as
  $$ delete from cron.job j where j.jobid = job_id returning true $$;
select is(pgflow.setup_ensure_workers_cron('2 seconds'),
  'Scheduled pgflow_ensure_workers (every 2 seconds) and pgflow_cleanup_logs (hourly)', 'with it: scheduled');
select pgflow.setup_ensure_workers_cron('3 seconds');
select is(pgflow.setup_requeue_stalled_tasks_cron(), 'Scheduled pgflow_requeue_stalled_tasks (every 15 seconds)', 'recovery too');
select results_eq('select jobname, schedule, command from cron.job order by 1',
  $$values ('pgflow_cleanup_logs', '0 * * * *', 'select pgflow.cleanup_ensure_workers_logs()'),
           ('pgflow_ensure_workers', '3 seconds', 'select pgflow.ensure_workers()'),
           ('pgflow_requeue_stalled_tasks', '15 seconds', 'select pgflow.requeue_stalled_tasks()')$$,
  'each job once, however often it is set up');
insert into cron.job (jobname) values ('pgflow_of_another'), ('nightly');
insert into cron.job_run_details
select j.jobid, clock_timestamp() - h * interval '1 hour' from cron.job j, generate_series(1, 49, 12) h;
select results_eq('select * from pgflow.cleanup_ensure_workers_logs()', 'values (9::bigint)', 'a day of log is kept, of each of our jobs');
select results_eq('select * from pgflow.cleanup_ensure_workers_logs(2)', 'values (3::bigint)', 'or what is asked for');
select is((select count(*) from cron.job_run_details), 13::bigint, 'other jobs'' logs stay');
select lives_ok('select pgflow.ensure_workers()', 'what cron calls works');

select * from finish();
rollback;
