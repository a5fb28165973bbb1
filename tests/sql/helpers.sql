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
