-- What a session can put in the way of a security-definer function: its own types and
-- tables in pg_temp, which an empty search_path would look at first.
begin;
select plan(6);

create role pgflow_test_hostile login in role pgflow_worker, pgflow_client;
select pgflow.ensure_deployment('{"flowSlug": "f", "steps": [{"slug": "a"}]}');

set session authorization pgflow_test_hostile;
create function pg_temp.note(given pg_catalog.text)
returns boolean
language plpgsql
as $$
begin
  if current_user <> session_user then
    raise exception 'ran as %', current_user;
  end if;
  return true;
end
$$;
create domain pg_temp.text as pg_catalog.text check (pg_temp.note(value));
create temporary table pg_db_role_setting (setrole oid, setdatabase oid, setconfig pg_catalog.text[]);
insert into pg_db_role_setting
select 0, d.oid, '{pgflow.is_local=on}' from pg_catalog.pg_database d where d.datname = current_database();
grant select on pg_db_role_setting to public;

-- pgTAP itself is called with the path that it is written for.
set local search_path = pg_catalog, public, pg_temp;
select lives_ok(
  $$ select pgflow.ensure_deployment('{"flowSlug": "f", "steps": [{"slug": "a"}]}') $$,
  'a domain of the session does not run inside a deployment');
select is(
  pgflow.ensure_deployment('{"flowSlug": "f", "steps": [{"slug": "b"}]}') ->> 'compilation', 'mismatch',
  'a table of the session does not make the database local');
select lives_ok(
  $$ select pgflow.register_worker('00000000-0000-0000-0000-000000000001', 'f', 'fn', array[('f', 'a')]::pgflow.task_pair[]) $$,
  'nor inside a registration');
select lives_ok($$ select pgflow.start_flow('f', '{}') $$, 'nor inside a start');
select is(
  (select outcome from pgflow.read_and_claim_tasks('f', 1, 5, '00000000-0000-0000-0000-000000000001')), 'started',
  'nor inside a claim and the queue');
select throws_ok($$ select pgflow.drain_status('nope') $$, '42704', 'flow "nope" does not exist', 'nor inside an error');

reset session authorization;
select * from finish();
rollback;
