-- Ownership of queues: created, adopted or refused.
begin;
select plan(23);

-- Modes and names
select pgflow.ensure_deployment(pgflow_test.deployment('Mixed', queue_mode => 'step', steps => '{a,B}'));
select results_eq($$ select step_slug, queue_name from pgflow.steps order by step_index $$,
  $$ values ('a'::text, 'mixed__a'::text), ('B', 'mixed__b') $$, 'mode step: a private queue each, in lower case');
select results_eq($$ select queue_name::text from pgmq.list_queues() order by 1 $$, array['mixed__a', 'mixed__b'],
  'only queues that the routes use are made');
select throws_ok(
  $$ select pgflow.ensure_deployment(pgflow_test.deployment(repeat('f', 46), queue_mode => 'step', steps => '{ok,much_longer}')) $$,
  '22023', null, 'a private queue over 47 bytes is refused');
select is_empty($$ select from pgflow.queues where queue_name like 'ff%' $$, 'atomically: the short one is not made either');
select lives_ok(
  $$ select pgflow.ensure_deployment(pgflow_test.deployment(repeat('r', 128), queue_mode => 'routed', routes => '{"a": "Shared_1"}')) $$,
  'a routed flow may have a long slug: it has no queue of that name');
select is((select queue_name from pgflow.steps where flow_slug = repeat('r', 128)), 'shared_1',
  'routes are canonical');

-- A private queue of more than 47 bytes is named by the index of its step
select pgflow.ensure_deployment(pgflow_test.deployment(repeat('L', 40), queue_mode => 'step', steps => '{ok,much_longer,exact}'));
select results_eq($$ select step_slug, queue_name from pgflow.steps where flow_slug = repeat('L', 40) order by step_index $$,
  $$ values ('ok'::text, repeat('l', 40) || '__ok'), ('much_longer', repeat('l', 40) || '__1'), ('exact', repeat('l', 40) || '__exact') $$,
  'a longer one is named by the index of its step');
select is(pgflow.ensure_flow_compiled(repeat('L', 40), '{"steps": [{"slug": "ok"}, {"slug": "much_longer"}, {"slug": "exact"}]}', 'step') ->> 'status', 'verified',
  'and verified so');

-- Default queues that would coincide; flows of earlier releases may have such slugs
insert into pgflow.flows (flow_slug, alias) values ('a__b', 'a__b');
insert into pgflow.queues (queue_name, kind, owner_flow_slug) values ('a__b', 'flow', 'a__b');
select pgmq.create('a__b');
select throws_ok(
  $$ select pgflow.ensure_deployment(pgflow_test.deployment('a', queue_mode => 'step', steps => '{b}')) $$, '55000',
  'queue "a__b" is private to flow "a__b" and cannot serve flow "a"',
  'a private queue that is another flow''s default queue is refused');
select throws_ok($$ select pgflow.create_flow('mixed__a') $$, '22023', 'flow slug or alias "mixed__a" is not valid',
  'the other way round no new flow has such a slug');

-- Private and shared
select throws_ok($$ select pgflow.create_flow('shared_1') $$, '55000',
  'queue "shared_1" is shared and cannot become private to flow "shared_1"', 'a shared queue cannot become private');
select throws_ok(
  $$ select pgflow.ensure_deployment(pgflow_test.deployment('r2', queue_mode => 'routed', routes => '{"a": "mixed__a"}')) $$,
  '55000', 'queue "mixed__a" is private to flow "Mixed" and cannot serve flow "r2"', 'a private queue cannot become shared');
select lives_ok(
  $$ select pgflow.ensure_deployment(pgflow_test.deployment('r2', queue_mode => 'routed', routes => '{"a": "shared_1"}')) $$,
  'a shared queue serves several flows');

-- Unknown queues
select pgmq.create('Legacy');
select pgmq.send('Legacy', '{"old": true}');
select throws_ok($$ select pgflow.create_flow('legacy') $$, '55000',
  'queue "legacy" exists in PGMQ and cannot become a private queue', 'an unknown queue does not become a default queue');
select throws_ok(
  $$ select pgflow.ensure_deployment(pgflow_test.deployment('r3', queue_mode => 'routed', routes => '{"a": "legacy"}')) $$,
  '55000', 'queue "legacy" exists in PGMQ and is unknown to pgflow', 'an unknown queue is not taken over silently');
select throws_ok(
  $$ select pgflow.ensure_deployment(pgflow_test.deployment('legacy'), adopt => '{legacy}') $$, '55000',
  'queue "legacy" exists in PGMQ and cannot become a private queue', 'adoption makes a queue shared, never private');
select lives_ok(
  $$ select pgflow.ensure_deployment(
       pgflow_test.deployment('r3', queue_mode => 'routed', routes => '{"a": "legacy"}'), adopt => '{LEGACY}') $$,
  'a queue named in adopt is taken over, whatever the spelling');
select results_eq($$ select kind, owner_flow_slug from pgflow.queues where queue_name = 'legacy' $$,
  $$ values ('shared'::text, null::text) $$, 'as shared');
select is(pgflow_test.queue_length('legacy'), 1::bigint, 'its old messages stay');
select lives_ok(
  $$ select pgflow.ensure_deployment(
       pgflow_test.deployment('r4', queue_mode => 'routed', routes => '{"a": "fresh"}'), adopt => '{fresh}') $$,
  'adopting a queue that does not exist makes it');

-- Known and gone
select pgmq.drop_queue('legacy');
select throws_ok(
  $$ select pgflow.ensure_deployment(pgflow_test.deployment('r5', queue_mode => 'routed', routes => '{"a": "legacy"}')) $$,
  '55000', 'queue "legacy" is known to pgflow.queues, but PGMQ no longer lists it',
  'a known queue that was dropped is not made anew for another flow');
select throws_ok(
  $$ select pgflow.ensure_deployment(pgflow_test.deployment('r3', queue_mode => 'routed', routes => '{"a": "legacy"}')) $$,
  '55000', 'queue "legacy" is known to pgflow.queues, but PGMQ no longer lists it',
  'nor when its flow is verified');
select is_empty($$ select from pgmq.list_queues() where queue_name = 'legacy' $$, 'it is still gone');

select * from finish();
rollback;
