-- What a login of each role tries beyond what it is for: every table, every other schema, definitions, other workers'
-- claims. Each attempt is refused, and afterwards the situation is as it was.
begin;
select no_plan();

create role pgflow_test_worker login in role pgflow_worker;
create role pgflow_test_client login in role pgflow_client;
create role pgflow_test_operator login in role pgflow_operator;
create schema elsewhere;
create table elsewhere.secret (text text);

select pgflow_test.chain('victim', '{a}');
insert into pgflow.worker_functions (function_name, start_mode) values ('fn', 'process'), ('other', 'process');
select pgflow.start_flow('victim', '{"secret": 1}', '00000000-0000-0000-0000-00000000000a');
-- Worker 1 holds the one task; worker 2 is whoever attacks.
create temporary table claim as select * from pgflow_test.claim('victim', 1);
insert into pgflow.workers (worker_id, queue_name, function_name) values (pgflow_test.w(2), 'victim', 'other');
insert into pgflow.worker_task_pairs values (pgflow_test.w(2), 'victim', 'a');

-- Everything that could be touched, as one text to compare.
create function pgflow_test.situation() returns text language sql security definer as $$
  select string_agg(t.rows, e'\n' order by t.rows) from (
    select row('task', t.*)::text from pgflow.step_tasks t
    union all select row('run', r.*)::text from pgflow.runs r
    union all select row('function', f.*)::text from pgflow.worker_functions f
    union all select row('worker', w.worker_id, w.queue_name, w.deprecated_at, w.stopped_at)::text from pgflow.workers w
    union all select row('flow', f.*)::text from pgflow.flows f
    union all select row('step', s.*)::text from pgflow.steps s
    union all select row('alias', a.*)::text from pgflow.flow_aliases a
    union all select row('message', m.msg_id, m.message)::text from pgmq.q_victim m) as t (rows)
$$;
create temporary table before as select pgflow_test.situation() as text;

-- Statements against every relation of both schemas, with what a role may do left out.
create function pgflow_test.attacks(may_read name[]) returns table (attack text) language sql security definer as $$
  select format(v.template, c.oid::regclass)
  from pg_class c
  cross join (values ('select from %s'), ('delete from %s'), ('truncate %s'), ('drop table %s'), ('lock table %s in exclusive mode'),
                     ('alter table %s disable trigger all'), ('create rule r as on insert to %s do instead nothing'),
                     ('create index on %s ((1))')) as v (template)
  where c.relnamespace in ('pgflow'::regnamespace, 'pgmq'::regnamespace) and c.relkind = 'r'
    and not (v.template like 'select%' and c.relnamespace = 'pgflow'::regnamespace and c.relname = any (may_read))
  union all
  select format('insert into %s default values', c.oid::regclass)
  from pg_class c where c.relnamespace in ('pgflow'::regnamespace, 'pgmq'::regnamespace) and c.relkind = 'r'
  union all
  select format('update %s set %I = null', c.oid::regclass, a.attname)
  from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and a.attidentity = ''
  where c.relnamespace in ('pgflow'::regnamespace, 'pgmq'::regnamespace) and c.relkind = 'r'
  union all
  select format('select nextval(%L)', c.oid::regclass) from pg_class c where c.relnamespace in ('pgflow'::regnamespace, 'pgmq'::regnamespace) and c.relkind = 'S'
  union all
  -- Every function of the queue, and every internal one, whatever its parameters: a call by oid is a call by name.
  select format('create function pg_temp.f%s() returns int language sql as %L', p.oid,
                format('select 1 from %s(%s)', p.oid::regproc,
                       (select string_agg(format('null::%s', t.oid::regtype), ', ') from unnest(p.proargtypes) as t (oid))))
         || format('; select pg_temp.f%s()', p.oid)
  from pg_proc p
  where p.prorettype <> 'trigger'::regtype
    and (p.pronamespace = 'pgmq'::regnamespace or p.pronamespace = 'pgflow'::regnamespace and p.proname ~ '^_')
  union all
  values ('select from elsewhere.secret'), ('create table elsewhere.mine ()'), ('create table pgflow.mine ()'), ('create table pgmq.mine ()'),
         ('create function pgflow.mine() returns int language sql as ''select 1'''),
         ('create or replace function pgflow.maintain() returns int language sql as ''select 1'''),
         ('alter function pgflow.maintain() security invoker'), ('drop function pgflow.maintain()'), ('drop schema pgflow cascade'),
         ('alter schema pgmq rename to mine'), ('alter table pgflow.runs owner to current_user'), ('grant pgflow_operator to current_user'),
         ('grant usage on schema pgmq to current_user'), ('alter role pgflow_worker superuser'), ('create role mine'),
         ('set role postgres'), ('copy (select 1) to program ''true'''),
         ('select pg_read_file(''/etc/passwd'')'), ('create extension pgcrypto schema pgflow'),
         ('comment on schema pgflow is ''mine''')
$$;
-- Each is tried as the session's user. What is not refused for want of a right is returned.
create function pgflow_test.try_all(may_read name[]) returns setof text language plpgsql as $$
declare
  item text;
begin
  for item in select a.attack from pgflow_test.attacks(may_read) a loop
    begin
      execute item;
      return next 'went through: ' || item;
    exception
      when insufficient_privilege then null;
      -- The owner is asked for before the right: "must be owner" is 42501 as well; what else comes was not refused.
      when others then return next sqlstate || ' ' || sqlerrm || ': ' || item;
    end;
  end loop;
end
$$;
grant usage on schema pgflow_test to public;
grant execute on all functions in schema pgflow_test to public;
select cmp_ok((select count(*) from pgflow_test.attacks('{}')), '>', 250::bigint, 'there is something to try');

-- ---- A worker ----
set session authorization pgflow_test_worker;
select is_empty($$ select pgflow_test.try_all('{}') $$, 'a worker touches no table, no other schema, no internal function');
select throws_ok($$ select pgflow.create_flow('mine') $$, '42501', null, 'defines no flow by hand');
select throws_ok($$ select pgflow.add_step('victim', 'b') $$, '42501', null, 'adds no step to a flow that is there');
select throws_ok($$ select pgflow.ensure_flow_compiled('victim', '{}', true) $$, '42501', null, 'compiles nothing over it');
select throws_ok($$ select pgflow.delete_flow_and_data('victim') $$, '42501', null, 'deletes no flow');
select throws_ok($$ select pgflow.retire_flow('victim') $$, '42501', null, 'retires none');
select throws_ok($$ select pgflow.prune_data_older_than(interval '0') $$, '42501', null, 'prunes nothing');
select throws_ok($$ select pgflow.enable_worker_function('fn') $$, '42501', null, 'enables no function');
select throws_ok($$ select pgflow.disable_worker_functions('{fn}') $$, '42501', null, 'disables none');
select throws_ok($$ select pgflow.deprecate_workers('{fn}') $$, '42501', null, 'deprecates no worker');
select throws_ok($$ select pgflow.complete_task('00000000-0000-0000-0000-00000000000a', 'a', 0, '1') $$, '42501', null, 'completes no task past its claim');
select throws_ok($$ select pgflow.fail_task('00000000-0000-0000-0000-00000000000a', 'a', 0, 'x') $$, '42501', null, 'nor fails one');
select throws_ok($$ select * from pgflow.get_run_with_states('00000000-0000-0000-0000-00000000000a') $$, '42501', null, 'looks at no run');
select is(
  pgflow.ensure_deployment('{"flowSlug": "victim", "steps": [{"slug": "a"}, {"slug": "b"}]}') ->> 'compilation', 'mismatch',
  'a deployment of another shape changes no flow');
reset session authorization;
select is(pgflow_test.situation(), (select text from before), 'and nothing has changed');

-- ---- Another worker's claim: it knows the task, not the claim's owner ----
create temporary table answer (attack text, outcome text);
grant all on answer, claim to public;
set session authorization pgflow_test_worker;
insert into answer select 'finish', f.outcome
from claim c, pgflow.finish_tasks(pgflow_test.w(2), array[c.run_id], array[c.step_slug], array[c.task_index], array[c.claim_no],
  '{completed}', '{1}', '{null}') f;
insert into answer select 'fail', f.outcome
from claim c, pgflow.finish_tasks(pgflow_test.w(2), array[c.run_id], array[c.step_slug], array[c.task_index], array[c.claim_no],
  '{permanent}', '{null}', '{mine}') f;
insert into answer select 'finish unknown', f.outcome
from claim c, pgflow.finish_tasks(gen_random_uuid(), array[c.run_id], array[c.step_slug], array[c.task_index], array[c.claim_no],
  '{completed}', '{1}', '{null}') f;
insert into answer select 'release', r.outcome
from claim c, pgflow.release_tasks(pgflow_test.w(2), array[c.run_id], array[c.step_slug], array[c.task_index], array[c.claim_no], '{true}') r;
insert into answer select 'claim by id', r.outcome
from claim c, pgflow.claim_tasks('victim', array[c.msg_id], pgflow_test.w(2), pgflow_test.pairs('victim/a')) r;
select pgflow.release_tasks_except(pgflow_test.w(2), '{}', '{}', '{}', '{}');
reset session authorization;
select results_eq($$ select attack, outcome from answer where attack <> 'claim by id' order by 1 $$,
  $$ values ('fail', 'late'), ('finish', 'late'), ('finish unknown', 'late'), ('release', 'late') $$,
  'a result or release under another worker''s name comes too late');
select is((select outcome from answer where attack = 'claim by id'), 'busy', 'and its message cannot be taken');
select is(pgflow_test.situation(), (select text from before), 'the claim is as it was');

-- ---- A client ----
set session authorization pgflow_test_client;
select is_empty($$ select pgflow_test.try_all('{flows,steps}') $$, 'a client touches nothing but flows and steps');
select throws_ok($$ select pgflow.drain_status('victim') $$, '42501', null, 'looks at no drain');
select throws_ok($$ select pgflow.read_and_claim_tasks('victim', 1, 5, pgflow_test.w(2)) $$, '42501', null, 'claims nothing');
select throws_ok($$ select pgflow.register_worker(gen_random_uuid(), 'victim', 'fn', '{}') $$, '42501', null, 'registers no worker');
select throws_ok($$ select pgflow.ensure_deployment('{}') $$, '42501', null, 'deploys nothing');
reset session authorization;
select is(pgflow_test.situation(), (select text from before), 'and nothing has changed');

-- ---- An operator ----
set session authorization pgflow_test_operator;
select is_empty(
  $$ select pgflow_test.try_all(array(select c.relname from pg_class c where c.relnamespace = 'pgflow'::regnamespace)) $$,
  'an operator reads schema pgflow and changes no table by hand');
select throws_ok($$ select * from pgflow.finish_tasks(pgflow_test.w(1), '{}', '{}', '{}', '{}', '{}', '{}', '{}') $$, '42501', null, 'finishes no task');
select throws_ok($$ select pgflow.heartbeat(pgflow_test.w(1)) $$, '42501', null, 'beats for no worker');
reset session authorization;
select is(pgflow_test.situation(), (select text from before), 'and nothing has changed');

select * from finish();
rollback;
