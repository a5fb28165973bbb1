-- Names and texts that try to be SQL: they are refused, or kept as they are. And names that stand in the way: functions
-- and operators of a schema that the caller's search_path finds before pg_catalog.
begin;
select no_plan();

create role pgflow_test_hostile login in role pgflow_worker, pgflow_client, pgflow_operator;
create table public.canary (id int);
create table public.trap (who text);
grant insert on public.trap to public;

-- What a name may hold to get out of a literal, an identifier, a format string, a LIKE.
create temporary table hostile (name text);
insert into hostile values
  ('x''; drop table public.canary; --'), ('x"; drop table public.canary; --'), ('x''); select pg_sleep(600); --'), ('$$; drop table public.canary; $$'),
  ('%s'), ('%I'), ('%1$s'), ('x\'), ('e''\'''), ('../../x'), (''''), ('"'), (';'), ('--'), ('/*'), ('a b'), ('a.b'), ('pg_catalog.pg_class'),
  ('a'||chr(10)||'b'), ('a'||chr(8217)||'b'), (repeat('a', 200)), (''), ('1a'), ('a__b'), ('_a'), ('run');
grant select on hostile to public;
create temporary table went (what text, name text);
grant insert on went to public;

set session authorization pgflow_test_hostile;
-- Slugs, aliases, step slugs, dependencies, queue names: none of these is a name.
do $$
declare
  bad text;
  attack text;
  parts text[];
begin
  for bad in select h.name from hostile h loop
    foreach attack in array array[
      format('select pgflow.ensure_deployment(jsonb_build_object(''flowSlug'', %L, ''steps'', ''[{"slug": "a"}]''::jsonb))', bad),
      format('select pgflow.ensure_deployment(jsonb_build_object(''flowSlug'', ''f'', ''alias'', %L, ''steps'', ''[{"slug": "a"}]''::jsonb))', bad),
      format('select pgflow.ensure_deployment(jsonb_build_object(''flowSlug'', ''f'', ''steps'', jsonb_build_array(jsonb_build_object(''slug'', %L))))', bad),
      format('select pgflow.ensure_deployment(jsonb_build_object(''flowSlug'', ''f'', ''steps'', jsonb_build_array(jsonb_build_object(''slug'', ''a'', ''dependencies'', jsonb_build_array(%L)))))', bad),
      format('select pgflow.start_flow(%L, ''{}'')', bad)]
    loop
      begin
        execute attack;
        insert into went values (attack, bad);
      exception when others then
        -- A mistake in SQL would show that the name became a part of it.
        if sqlstate in ('42601', '42703', '42883', '22P02', 'XX000') then
          insert into went values (sqlstate || ' ' || attack, bad);
        end if;
      end;
    end loop;
    foreach attack in array array[
      format('select pgflow.ensure_deployment(jsonb_build_object(''flowSlug'', ''g'', ''queueMode'', ''routed'', ''routes'', jsonb_build_object(''a'', %L), ''steps'', ''[{"slug": "a"}]''::jsonb))', bad),
      format('select pgflow.create_flow(%L)', bad),
      format('select pgflow.add_step(''h'', %L)', bad),
      format('select pgflow.add_step(''h'', ''a'', queue_name => %L)', bad)]
    loop
      begin
        execute attack;
        -- These take some names that a deployment does not; a queue may have a dash or an underscore.
        if bad !~ '^[a-z0-9_]+$' then
          insert into went values (attack, bad);
        end if;
      exception when others then
        if sqlstate in ('42601', '42703', '42883', '22P02', 'XX000') then
          insert into went values (sqlstate || ' ' || attack, bad);
        end if;
      end;
    end loop;
  end loop;
end
$$;
reset session authorization;
select is_empty($$ select name, what from went $$, 'no text that is no name becomes one, nor a part of SQL');
select has_table('public', 'canary', 'nothing was run');

-- Function names are free text: kept as they are, and found again.
set session authorization pgflow_test_hostile;
do $$
declare
  item text;
begin
  for item in select h.name from hostile h where h.name <> '' loop
    perform pgflow.track_worker_function(item, 'process');
    perform pgflow.disable_worker_functions(array[item]);
  end loop;
end
$$;
reset session authorization;
select set_eq($$ select function_name from pgflow.worker_functions where not enabled $$, $$ select name from hostile where name <> '' $$,
  'a function name is what was given, to the byte');
select has_table('public', 'canary', 'and still nothing was run');

-- Texts of a task: an error and an output that look like SQL or like a format.
select pgflow_test.chain('texts', '{a}');
select pgflow.start_flow('texts', to_jsonb((select string_agg(name, '|') from hostile)), '00000000-0000-0000-0000-00000000000b');
create temporary table claim as select * from pgflow_test.claim('texts', 1);
select is((select c.flow_input #>> '{}' from claim c), (select string_agg(name, '|') from hostile), 'an input comes as it was given');
select is(
  (select f.outcome from claim c, pgflow.finish_tasks(pgflow_test.w(1), array[c.run_id], array[c.step_slug], array[c.task_index],
    array[c.claim_no], '{permanent}', '{null}', array[(select string_agg(name, '|') from hostile)]) f),
  'failed', 'so does an error');
select is((select error_message from pgflow.step_tasks where run_id = '00000000-0000-0000-0000-00000000000b'), (select string_agg(name, '|') from hostile),
  'and is kept to the byte');

-- ---- Shadowing ----
-- Every function and operator that plain SQL is made of, before pg_catalog on the caller's path; each tells who runs it.
create schema hostile_path;
grant usage, create on schema hostile_path to public;
set session authorization pgflow_test_hostile;
create function hostile_path.note() returns void language plpgsql as $$
begin
  if current_user <> session_user then
    insert into public.trap values (current_user);
  end if;
end
$$;
create function hostile_path.lower(given text) returns text language plpgsql as $$ begin perform hostile_path.note(); return pg_catalog.lower(given); end $$;
create function hostile_path.now() returns timestamptz language plpgsql as $$ begin perform hostile_path.note(); return pg_catalog.now(); end $$;
create function hostile_path.clock_timestamp() returns timestamptz language plpgsql as $$ begin perform hostile_path.note(); return pg_catalog.clock_timestamp(); end $$;
create function hostile_path.format(given text, variadic rest text[]) returns text language plpgsql as $$ begin perform hostile_path.note(); return ''; end $$;
create function hostile_path.jsonb_array_elements(given jsonb) returns setof jsonb language plpgsql as $$ begin perform hostile_path.note(); return query select pg_catalog.jsonb_array_elements(given); end $$;
create function hostile_path.cardinality(given text[]) returns int language plpgsql as $$ begin perform hostile_path.note(); return pg_catalog.cardinality(given); end $$;
create function hostile_path.gen_random_uuid() returns uuid language plpgsql as $$ begin perform hostile_path.note(); return pg_catalog.gen_random_uuid(); end $$;
create function hostile_path.same(a text, b text) returns boolean language plpgsql as $$ begin perform hostile_path.note(); return pg_catalog.texteq(a, b); end $$;
create function hostile_path.same(a uuid, b uuid) returns boolean language plpgsql as $$ begin perform hostile_path.note(); return pg_catalog.uuid_eq(a, b); end $$;
create function hostile_path.joined(a text, b text) returns text language plpgsql as $$ begin perform hostile_path.note(); return pg_catalog.textcat(a, b); end $$;
create operator hostile_path.= (leftarg = text, rightarg = text, function = hostile_path.same);
create operator hostile_path.= (leftarg = uuid, rightarg = uuid, function = hostile_path.same);
create operator hostile_path.|| (leftarg = text, rightarg = text, function = hostile_path.joined);
create table hostile_path.step_tasks (id int);
create table hostile_path.flows (id int);
reset session authorization;
-- The control: a function that pins nothing falls into the trap.
create function pgflow_test.unpinned() returns boolean language plpgsql security definer as $$ begin return lower('X') = 'x'; end $$;
grant usage on schema pgflow_test to public;
grant execute on function pgflow_test.unpinned() to public;

set session authorization pgflow_test_hostile;
set search_path = hostile_path, pg_catalog, public, pg_temp;
do $$
declare
  id uuid := '20000000-0000-4000-8000-000000000001';
  run uuid := '20000000-0000-4000-8000-00000000000c';
  task pgflow.claim_row;
begin
  perform pgflow.ensure_deployment('{"flowSlug": "shadowed_v1", "alias": "shadowed", "steps": [{"slug": "a"}, {"slug": "b", "dependencies": ["a"]}]}');
  perform pgflow.track_worker_function('shadow', 'process');
  perform pgflow.register_worker(id, 'shadowed_v1', 'shadow', array[('shadowed_v1', 'a'), ('shadowed_v1', 'b')]::pgflow.task_pair[]);
  perform pgflow.offer_activation('shadowed_v1', id);
  perform pgflow.missing_coverage('shadowed_v1', '{}'), pgflow.queue_coverage('shadowed_v1'), pgflow.queue_stats('shadowed_v1'),
    pgflow.draining_runs('{shadowed_v1}'),
    pgflow.host_status('shadowed_v1', '{shadowed_v1}');
  perform pgflow.start_flow('shadowed', '{}', run), pgflow.start_flows('shadowed', array['{}']::jsonb[]);
  select c.* into task from pgflow.read_and_claim_tasks('shadowed_v1', 1, 5, id) c;
  perform pgflow.finish_tasks(id, array[task.run_id], array[task.step_slug], array[task.task_index], array[task.claim_no], '{completed}', '{1}', '{null}');
  perform pgflow.heartbeat(id, array[run]), pgflow.maintain(), pgflow.drain_status('shadowed_v1'), pgflow.get_run_with_states(run);
  perform pgflow.release_tasks_except(id, '{}', '{}', '{}', '{}');
  perform pgflow.cancel_run(run, 'x'), pgflow.schema_version(), pgflow.mark_worker_stopped(id);
end
$$;
reset search_path;
reset session authorization;
select is_empty('select who from public.trap', 'no function of ours calls a function or operator of the caller''s path');
select is((select status from pgflow.runs where run_id = '20000000-0000-4000-8000-00000000000c'), 'cancelled', 'and they did their work');

set session authorization pgflow_test_hostile;
set search_path = hostile_path, pg_catalog, public, pg_temp;
select pgflow_test.unpinned();
reset search_path;
reset session authorization;
select isnt_empty('select who from public.trap', 'the trap works: a function that pins no path falls into it');

select * from finish();
rollback;
