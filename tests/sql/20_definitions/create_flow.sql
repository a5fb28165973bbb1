-- create_flow: plain flows.
begin;
select plan(18);

select results_eq(
  $$ select flow_slug, alias, opt_max_attempts, opt_base_delay, opt_timeout, queue_mode, retired_at
     from pgflow.create_flow('Plain') $$,
  $$ values ('Plain'::text, 'Plain'::text, 3, 5, 60, 'flow'::text, null::timestamptz) $$,
  'a plain flow is its own alias and takes the defaults 3, 5 and 60');
select results_eq(
  $$ select alias, active_flow_slug, previous_flow_slug from pgflow.flow_aliases $$,
  $$ values ('Plain'::text, 'Plain'::text, null::text) $$,
  'it is active at once');
select results_eq(
  $$ select alias, from_flow_slug, to_flow_slug, by = session_user, worker_id, forced from pgflow.alias_switches $$,
  $$ values ('Plain'::text, null::text, 'Plain'::text, true, null::uuid, false) $$,
  'its activation is recorded');
select results_eq(
  $$ select queue_name, kind, owner_flow_slug from pgflow.queues $$,
  $$ values ('plain'::text, 'flow'::text, 'Plain'::text) $$,
  'its default queue is its slug in lower case');
select results_eq(
  $$ select queue_name::text from pgmq.list_queues() $$, array['plain'], 'the queue exists in PGMQ');

select results_eq(
  $$ select opt_max_attempts, opt_base_delay, opt_timeout from pgflow.create_flow('given', 7, 0, 9) $$,
  $$ values (7, 0, 9) $$, 'given options are stored');
select results_eq(
  $$ select opt_max_attempts, opt_base_delay, opt_timeout from pgflow.create_flow('given', 1, 1, 1) $$,
  $$ values (7, 0, 9) $$, 'an existing flow is returned with its own options');
select is((select count(*) from pgflow.alias_switches where alias = 'given'), 1::bigint,
  'creating a flow again records no switch');

select throws_ok($$ select pgflow.create_flow('9lives') $$, '22023',
  'flow slug or alias "9lives" is not valid', 'refuses a slug that is not valid');
select throws_ok($$ select pgflow.create_flow(null) $$, '22023',
  'flow slug or alias "(null)" is not valid', 'refuses null');
select throws_ok($$ select pgflow.create_flow('f', max_attempts => 1001) $$, '22023',
  'flow "f": max_attempts is 1001', 'refuses too many attempts');
select throws_ok($$ select pgflow.create_flow('f', base_delay => -1) $$, '22023',
  'flow "f": base_delay is -1', 'refuses a negative delay');
select throws_ok($$ select pgflow.create_flow('f', timeout => 0) $$, '22023',
  'flow "f": timeout is 0', 'refuses a timeout of nothing');
select throws_ok($$ select pgflow.create_flow('f', timeout => 604801) $$, '22023',
  'flow "f": timeout is 604801', 'refuses a timeout of more than a week');
select lives_ok($$ select pgflow.create_flow(repeat('q', 47)) $$, 'a slug of 47 bytes has a default queue');
select throws_ok($$ select pgflow.create_flow(repeat('q', 48)) $$, '22023',
  'queue name "' || repeat('q', 48) || '" has 48 bytes; the limit is 47',
  'refuses a slug whose default queue would be too long');
select is_empty($$ select from pgflow.flows where flow_slug = repeat('q', 48) $$, 'the refusal leaves nothing behind');

update pgflow.flows set created_at = '2100-01-01' where flow_slug = 'given';
insert into pgflow.alias_switches (alias, to_flow_slug, at) values ('later', 'gone', '2200-01-01');
select pgflow.create_flow('later');
select ok((select created_at > '2200-01-01' from pgflow.flows where flow_slug = 'later'),
  'a new flow is later than the last switch of its alias, although the clock stepped back');

select * from finish();
rollback;
