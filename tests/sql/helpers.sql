-- Helpers that every pgTAP file may use; loaded once per area, schema pgflow_test.
create schema pgflow_test;

-- Definitions, coverage and rollout. Rows are put in place directly, so that a test
-- states exactly the situation it is about, whatever the engine would make of it.

-- A deployment: steps as text 'slug' or 'slug<dep,dep', queues as {step: queue}.
create function pgflow_test.deployment(
  flow_slug text,
  alias text default null,
  queue_mode text default 'flow',
  steps text[] default '{a}',
  routes jsonb default null
)
returns jsonb
language sql
as $$
  select jsonb_build_object(
    'flowSlug', flow_slug, 'alias', alias, 'queueMode', queue_mode, 'routes', routes,
    'steps', (
      select jsonb_agg(jsonb_build_object(
        'slug', split_part(s.text, '<', 1),
        'dependencies', to_jsonb(string_to_array(nullif(split_part(s.text, '<', 2), ''), ','))) order by s.position)
      from unnest(steps) with ordinality as s (text, position)))
$$;

-- A worker row with its pairs, given as 'flow/step'; live and working by default.
create function pgflow_test.put_worker(
  queue_name text,
  function_name text default 'fn',
  pairs text[] default '{}',
  modules jsonb default '[]'
)
returns uuid
language plpgsql
as $$
declare
  id uuid := gen_random_uuid();
begin
  insert into pgflow.worker_functions (function_name, start_mode)
  values (put_worker.function_name, 'process')
  on conflict do nothing;
  insert into pgflow.workers (worker_id, queue_name, function_name, info)
  values (id, put_worker.queue_name, put_worker.function_name, jsonb_build_object('modules', modules));
  insert into pgflow.worker_task_pairs (worker_id, flow_slug, step_slug)
  select id, split_part(p.pair, '/', 1), split_part(p.pair, '/', 2) from unnest(pairs) as p (pair);
  return id;
end
$$;

-- A started run: every step created, no task yet.
create function pgflow_test.put_run(flow_slug text)
returns uuid
language plpgsql
as $$
declare
  id uuid := gen_random_uuid();
begin
  insert into pgflow.runs (run_id, flow_slug, input, remaining_steps)
  select id, put_run.flow_slug, '{}', count(*) from pgflow.steps s where s.flow_slug = put_run.flow_slug;
  insert into pgflow.step_states (flow_slug, run_id, step_slug, remaining_deps)
  select s.flow_slug, id, s.step_slug, s.deps_count from pgflow.steps s where s.flow_slug = put_run.flow_slug;
  return id;
end
$$;

-- A task with its message: queued or started. Its step is started. Returns the message id.
create function pgflow_test.put_task(run_id uuid, step_slug text, status text default 'queued')
returns bigint
language plpgsql
as $$
declare
  step pgflow.steps;
  id bigint;
begin
  select s.* into step
  from pgflow.runs r join pgflow.steps s on s.flow_slug = r.flow_slug
  where r.run_id = put_task.run_id and s.step_slug = put_task.step_slug;
  update pgflow.step_states s
  set status = 'started', started_at = clock_timestamp(), remaining_tasks = 1, initial_tasks = 1, remaining_deps = 0
  where s.run_id = put_task.run_id and s.step_slug = put_task.step_slug;
  select pgmq.send(step.queue_name, jsonb_build_object('step_slug', step.step_slug)) into id;
  insert into pgflow.step_tasks
    (flow_slug, run_id, step_slug, queue_name, message_id, status, queued_at, started_at, recover_at)
  select step.flow_slug, put_task.run_id, put_task.step_slug, step.queue_name, id, put_task.status, t.moment,
         case when put_task.status = 'started' then t.moment end,
         case when put_task.status = 'started' then t.moment + interval '1 hour' end
  from clock_timestamp() as t (moment);
  return id;
end
$$;

-- The messages on a queue, as a count.
create function pgflow_test.queue_length(queue_name text)
returns bigint
language plpgsql
as $$
declare
  n bigint;
begin
  execute format('select count(*) from pgmq.%I', 'q_' || lower(queue_name)) into n;
  return n;
end
$$;

-- Claims, workers and messages.

-- A fixed worker id: w(1), w(2), ...
create function pgflow_test.w(n int)
returns uuid
language sql
immutable
as $$ select ('10000000-0000-4000-8000-' || lpad(n::text, 12, '0'))::uuid $$;

-- Pairs from texts 'flow/step'.
create function pgflow_test.pairs(variadic texts text[])
returns pgflow.task_pair[]
language sql
immutable
as $$
  select coalesce(array_agg(row(split_part(t, '/', 1), split_part(t, '/', 2))::pgflow.task_pair), '{}')
  from unnest(texts) t
$$;

-- A flow of single steps in a chain, on one queue (default: its own).
create function pgflow_test.chain(flow_slug text, steps text[] default '{a}', queue_name text default null)
returns void
language plpgsql
as $$
begin
  perform pgflow.create_flow(chain.flow_slug);
  for i in 1 .. cardinality(steps) loop
    perform pgflow.add_step(chain.flow_slug, steps[i], steps[i - 1:i - 1], queue_name => chain.queue_name);
  end loop;
end
$$;

-- One row of a queue's table, by message id.
create function pgflow_test.message(queue_name text, id bigint)
returns table (msg_id bigint, read_ct int, vt timestamptz, message jsonb)
language plpgsql
as $$
begin
  return query execute format(
    'select m.msg_id, m.read_ct, m.vt, m.message from pgmq.%I m where m.msg_id = $1', 'q_' || lower(queue_name))
  using id;
end
$$;

-- Message ids in the archive of a queue.
create function pgflow_test.archived(queue_name text)
returns setof bigint
language plpgsql
as $$
begin
  return query execute format('select a.msg_id from pgmq.%I a order by 1', 'a_' || lower(queue_name));
end
$$;

-- Moves the recovery deadline of every started task into the past.
create function pgflow_test.let_deadlines_pass()
returns void
language sql
as $$ update pgflow.step_tasks set recover_at = clock_timestamp() - interval '1 second' where status = 'started' $$;

-- Makes every message of a queue visible.
create function pgflow_test.show_all(queue_name text)
returns void
language plpgsql
as $$ begin execute format('update pgmq.%I set vt = clock_timestamp()', 'q_' || lower(queue_name)); end $$;

-- Runs and results.

-- Claims what is visible on a queue by worker w(n), which supports every pair that is routed there.
create function pgflow_test.claim(queue_name text, n int default 1, qty int default 100)
returns setof pgflow.claim_row
language plpgsql
as $$
begin
  insert into pgflow.workers (worker_id, queue_name, function_name)
  values (pgflow_test.w(n), claim.queue_name, 'fn')
  on conflict (worker_id) do update set queue_name = excluded.queue_name;
  insert into pgflow.worker_task_pairs (worker_id, flow_slug, step_slug)
  select pgflow_test.w(n), s.flow_slug, s.step_slug from pgflow.steps s where s.queue_name = claim.queue_name
  on conflict do nothing;
  return query select c.* from pgflow.read_and_claim_tasks(claim.queue_name, qty, 0, pgflow_test.w(n)) c;
end
$$;

-- Reports one result under the task's present claim. value: the output of a completed task as JSON text, the error of
-- another. run_id: needed when several runs have the step.
create function pgflow_test.report(
  step_slug text, result text, value text default null, task_index int default 0, run_id uuid default null,
  retry_after int default null)
returns text
language plpgsql
as $$
declare
  task pgflow.step_tasks;
begin
  select t.* into strict task
  from pgflow.step_tasks t
  where t.step_slug = report.step_slug and t.task_index = report.task_index
    and t.run_id = coalesce(report.run_id, t.run_id);
  return (
    select f.outcome
    from pgflow.finish_tasks(
      task.last_worker_id, array[task.run_id], array[task.step_slug], array[task.task_index], array[task.claim_no],
      array[result], array[case when result = 'completed' then value end],
      array[case when result <> 'completed' then value end], array[retry_after]) f);
end
$$;

-- Claims and completes whatever is visible on a queue, until nothing is, with one output for all. Returns the number.
create function pgflow_test.work(queue_name text, output text default 'null')
returns int
language plpgsql
as $$
declare
  done int := 0;
  batch int;
begin
  loop
    select count(f.*) into batch
    from (
      select array_agg(c.run_id) as run_ids, array_agg(c.step_slug) as step_slugs,
             array_agg(c.task_index) as task_indexes, array_agg(c.claim_no) as claim_nos,
             array_agg('completed'::text) as results, array_agg(work.output) as outputs
      from pgflow_test.claim(work.queue_name) c
      where c.outcome = 'started'
    ) b
    cross join lateral pgflow.finish_tasks(pgflow_test.w(1), b.run_ids, b.step_slugs, b.task_indexes, b.claim_nos,
                                           b.results, b.outputs, null) f
    where b.run_ids is not null;
    exit when batch = 0;
    done := done + batch;
  end loop;
  return done;
end
$$;

-- Status of the steps of the only run, as 'slug:status', in the order of the definition.
create function pgflow_test.steps()
returns text[]
language sql
as $$
  select array_agg(st.step_slug || ':' || st.status order by s.step_index)
  from pgflow.step_states st
  join pgflow.steps s on s.flow_slug = st.flow_slug and s.step_slug = st.step_slug
$$;

-- Every live message, by queue.
create function pgflow_test.live_messages()
returns table (queue_name text, message_id bigint)
language plpgsql
as $$
declare
  q text;
begin
  for q in select x.queue_name from pgflow.queues x loop
    return query execute format('select %L::text, m.msg_id from pgmq.%I m', q, 'q_' || q);
  end loop;
end
$$;

-- What must hold between any two transactions; one row for each violation.
create function pgflow_test.violations()
returns setof text
language sql
as $$
  select format('live task %s/%s of a run that is %s', t.step_slug, t.task_index, r.status)
  from pgflow.step_tasks t join pgflow.runs r on r.run_id = t.run_id
  where t.status in ('queued', 'started') and r.status <> 'started'
  union all
  select format('live task %s/%s of a step that is %s', t.step_slug, t.task_index, st.status)
  from pgflow.step_tasks t
  join pgflow.step_states st on st.run_id = t.run_id and st.step_slug = t.step_slug
  where t.status in ('queued', 'started') and st.status <> 'started'
  union all
  select format('message of task %s/%s that is %s', t.step_slug, t.task_index, t.status)
  from pgflow_test.live_messages() m
  join pgflow.step_tasks t on t.queue_name = m.queue_name and t.message_id = m.message_id
  where t.status not in ('queued', 'started')
  union all
  select format('live task %s/%s without a message', t.step_slug, t.task_index)
  from pgflow.step_tasks t
  where t.status in ('queued', 'started')
    and (t.queue_name, t.message_id) not in (select m.queue_name, m.message_id from pgflow_test.live_messages() m)
  union all
  select format('step %s (%s) counts %s tasks left of %s, %s completed', st.step_slug, st.status, st.remaining_tasks,
                st.initial_tasks, n.completed)
  from pgflow.step_states st
  cross join lateral (
    select count(*) filter (where t.status = 'completed') as completed, count(*) as made
    from pgflow.step_tasks t where t.run_id = st.run_id and t.step_slug = st.step_slug) n
  where st.status in ('started', 'completed')
    and (st.remaining_tasks <> st.initial_tasks - n.completed or st.initial_tasks <> n.made)
    and not exists (select from pgflow.runs r where r.run_id = st.run_id and r.status = 'failed')
    -- A resume takes over a completed step without its tasks.
    and not (st.status = 'completed' and n.made = 0
             and exists (select from pgflow.run_restarts x where x.run_id = st.run_id and x.resumed))
  union all
  select format('step %s (%s) counts %s open dependencies, %s are', st.step_slug, st.status, st.remaining_deps, n.open)
  from pgflow.step_states st
  join pgflow.runs r on r.run_id = st.run_id and r.status in ('started', 'completed')
  cross join lateral (
    select count(*) as open
    from pgflow.deps d join pgflow.step_states ds on ds.run_id = st.run_id and ds.step_slug = d.dep_slug
    where d.flow_slug = st.flow_slug and d.step_slug = st.step_slug and ds.status not in ('completed', 'skipped')) n
  where st.status in ('created', 'started', 'completed') and st.remaining_deps <> n.open
  union all
  select format('run %s (%s) counts %s steps left, %s are', r.run_id, r.status, r.remaining_steps, n.open)
  from pgflow.runs r
  cross join lateral (
    select count(*) as open from pgflow.step_states st
    where st.run_id = r.run_id and st.status not in ('completed', 'skipped')) n
  where r.remaining_steps <> n.open
  union all
  select format('started run %s has nothing to do', r.run_id)
  from pgflow.runs r
  where r.status = 'started'
    and not exists (select from pgflow.step_tasks t where t.run_id = r.run_id and t.status in ('queued', 'started'))
$$;
