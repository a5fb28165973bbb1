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
