-- A database as pgflow 0.14.1 makes it: the catalogue is that release's, the function bodies are our own.
-- They do what old workers see: entry points that call helpers by name, with the caller's rights.
create schema pgflow;

create function pgflow.is_valid_slug(slug text)
returns boolean
language plpgsql
immutable
set search_path = ''
as $$
begin
  return slug is not null and length(slug) between 1 and 128 and slug ~ '^[a-zA-Z_][a-zA-Z0-9_]*$' and slug <> 'run';
end
$$;

create table pgflow.flows (
  flow_slug text primary key not null,
  opt_max_attempts integer not null default 3,
  opt_base_delay integer not null default 1,
  opt_timeout integer not null default 60,
  created_at timestamptz not null default now(),
  constraint slug_is_valid check (pgflow.is_valid_slug(flow_slug)),
  constraint opt_max_attempts_is_nonnegative check (opt_max_attempts >= 0),
  constraint opt_base_delay_is_nonnegative check (opt_base_delay >= 0),
  constraint opt_timeout_is_positive check (opt_timeout > 0)
);

create table pgflow.steps (
  flow_slug text not null references pgflow.flows (flow_slug),
  step_slug text not null,
  step_type text not null default 'single',
  step_index integer not null default 0,
  deps_count integer not null default 0 check (deps_count >= 0),
  opt_max_attempts integer,
  opt_base_delay integer,
  opt_timeout integer,
  created_at timestamptz not null default now(),
  opt_start_delay integer,
  required_input_pattern jsonb,
  forbidden_input_pattern jsonb,
  when_unmet text not null default 'skip',
  when_exhausted text not null default 'fail',
  primary key (flow_slug, step_slug),
  unique (flow_slug, step_index),
  check (pgflow.is_valid_slug(step_slug)),
  check (step_type in ('single', 'map')),
  constraint opt_max_attempts_is_nonnegative check (opt_max_attempts is null or opt_max_attempts >= 0),
  constraint opt_base_delay_is_nonnegative check (opt_base_delay is null or opt_base_delay >= 0),
  constraint opt_timeout_is_positive check (opt_timeout is null or opt_timeout > 0),
  constraint opt_start_delay_is_nonnegative check (opt_start_delay is null or opt_start_delay >= 0),
  constraint required_input_pattern_is_object
    check (required_input_pattern is null or jsonb_typeof(required_input_pattern) = 'object'),
  constraint forbidden_input_pattern_is_object
    check (forbidden_input_pattern is null or jsonb_typeof(forbidden_input_pattern) = 'object'),
  constraint when_unmet_is_valid check (when_unmet in ('fail', 'skip', 'skip-cascade')),
  constraint when_exhausted_is_valid check (when_exhausted in ('fail', 'skip', 'skip-cascade'))
);

create table pgflow.deps (
  flow_slug text not null references pgflow.flows (flow_slug),
  dep_slug text not null,
  step_slug text not null,
  created_at timestamptz not null default now(),
  primary key (flow_slug, dep_slug, step_slug),
  foreign key (flow_slug, dep_slug) references pgflow.steps (flow_slug, step_slug),
  foreign key (flow_slug, step_slug) references pgflow.steps (flow_slug, step_slug),
  check (dep_slug <> step_slug)
);
create index idx_deps_by_flow_step on pgflow.deps (flow_slug, step_slug);
create index idx_deps_by_flow_dep on pgflow.deps (flow_slug, dep_slug);

create table pgflow.runs (
  run_id uuid primary key not null default gen_random_uuid(),
  flow_slug text not null references pgflow.flows (flow_slug),
  status text not null default 'started',
  input jsonb not null,
  output jsonb,
  remaining_steps integer not null default 0 check (remaining_steps >= 0),
  started_at timestamptz not null default now(),
  completed_at timestamptz,
  failed_at timestamptz,
  constraint status_is_valid check (status in ('started', 'failed', 'completed')),
  constraint completed_at_or_failed_at check (not (completed_at is not null and failed_at is not null)),
  constraint completed_at_is_after_started_at check (completed_at is null or completed_at >= started_at),
  constraint failed_at_is_after_started_at check (failed_at is null or failed_at >= started_at)
);
create index idx_runs_flow_slug on pgflow.runs (flow_slug);
create index idx_runs_status on pgflow.runs (status);

create table pgflow.step_states (
  flow_slug text not null references pgflow.flows (flow_slug),
  run_id uuid not null references pgflow.runs (run_id),
  step_slug text not null,
  status text not null default 'created',
  remaining_tasks integer,
  remaining_deps integer not null default 0 check (remaining_deps >= 0),
  created_at timestamptz not null default now(),
  started_at timestamptz,
  completed_at timestamptz,
  failed_at timestamptz,
  error_message text,
  initial_tasks integer check (initial_tasks is null or initial_tasks >= 0),
  output jsonb,
  skip_reason text,
  skipped_at timestamptz,
  primary key (run_id, step_slug),
  foreign key (flow_slug, step_slug) references pgflow.steps (flow_slug, step_slug),
  constraint status_is_valid check (status in ('created', 'started', 'completed', 'failed', 'skipped')),
  constraint status_and_remaining_tasks_match check (status <> 'completed' or remaining_tasks = 0),
  constraint remaining_tasks_state_consistency check (remaining_tasks is null or status not in ('created', 'skipped')),
  constraint initial_tasks_known_when_started check (status <> 'started' or initial_tasks is not null),
  constraint output_only_for_completed_or_null check (output is null or status = 'completed'),
  constraint skip_reason_matches_status
    check ((status = 'skipped' and skip_reason is not null) or (status <> 'skipped' and skip_reason is null)),
  constraint completed_at_or_failed_at_or_skipped_at check (
    (case when completed_at is not null then 1 else 0 end + case when failed_at is not null then 1 else 0 end
     + case when skipped_at is not null then 1 else 0 end) <= 1),
  constraint started_at_is_after_created_at check (started_at is null or started_at >= created_at),
  constraint completed_at_is_after_started_at check (completed_at is null or completed_at >= started_at),
  constraint failed_at_is_after_started_at check (failed_at is null or failed_at >= started_at),
  constraint skipped_at_is_after_created_at check (skipped_at is null or skipped_at >= created_at)
);
create index idx_step_states_ready on pgflow.step_states (run_id, status, remaining_deps)
  where status = 'created' and remaining_deps = 0;
create index idx_step_states_failed on pgflow.step_states (run_id, step_slug) where status = 'failed';
create index idx_step_states_skipped on pgflow.step_states (run_id, step_slug) where status = 'skipped';
create index idx_step_states_flow_slug on pgflow.step_states (flow_slug);
create index idx_step_states_run_id on pgflow.step_states (run_id);

create table pgflow.workers (
  worker_id uuid primary key not null,
  queue_name text not null,
  function_name text not null,
  started_at timestamptz not null default now(),
  deprecated_at timestamptz,
  last_heartbeat_at timestamptz not null default now(),
  stopped_at timestamptz
);
create index idx_workers_queue_name on pgflow.workers (queue_name);
create index idx_workers_heartbeat on pgflow.workers (last_heartbeat_at);

create table pgflow.worker_functions (
  function_name text primary key not null,
  enabled boolean not null default true,
  debounce interval not null default '6 seconds' check (debounce >= '1 second'),
  last_invoked_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);

create table pgflow.step_tasks (
  flow_slug text not null references pgflow.flows (flow_slug),
  run_id uuid not null references pgflow.runs (run_id),
  step_slug text not null,
  message_id bigint,
  task_index integer not null default 0,
  status text not null default 'queued',
  attempts_count integer not null default 0,
  error_message text,
  output jsonb,
  queued_at timestamptz not null default now(),
  completed_at timestamptz,
  failed_at timestamptz,
  started_at timestamptz,
  last_worker_id uuid references pgflow.workers (worker_id) on delete set null,
  requeued_count integer not null default 0,
  last_requeued_at timestamptz,
  permanently_stalled_at timestamptz,
  primary key (run_id, step_slug, task_index),
  foreign key (run_id, step_slug) references pgflow.step_states (run_id, step_slug),
  constraint valid_status check (status in ('queued', 'started', 'completed', 'failed')),
  constraint output_valid_only_for_completed check (output is null or status in ('completed', 'failed')),
  constraint attempts_count_nonnegative check (attempts_count >= 0),
  constraint completed_at_or_failed_at check (not (completed_at is not null and failed_at is not null)),
  constraint started_at_is_after_queued_at check (started_at is null or started_at >= queued_at),
  constraint completed_at_is_after_queued_at check (completed_at is null or completed_at >= queued_at),
  constraint completed_at_is_after_started_at
    check (completed_at is null or started_at is null or completed_at >= started_at),
  constraint failed_at_is_after_queued_at check (failed_at is null or failed_at >= queued_at),
  constraint failed_at_is_after_started_at check (failed_at is null or started_at is null or failed_at >= started_at)
);
create index idx_step_tasks_message_id on pgflow.step_tasks (message_id);
create index idx_step_tasks_queued on pgflow.step_tasks (run_id, step_slug) where status = 'queued';
create index idx_step_tasks_started on pgflow.step_tasks (started_at) where status = 'started';
create index idx_step_tasks_completed on pgflow.step_tasks (run_id, step_slug) where status = 'completed';
create index idx_step_tasks_failed on pgflow.step_tasks (run_id, step_slug) where status = 'failed';
create index idx_step_tasks_flow_run_step on pgflow.step_tasks (flow_slug, run_id, step_slug);
create index idx_step_tasks_last_worker on pgflow.step_tasks (last_worker_id) where status = 'started';
create index idx_step_tasks_queued_msg on pgflow.step_tasks (message_id) where status = 'queued';

create type pgflow.step_task_record as (
  flow_slug text,
  run_id uuid,
  step_slug text,
  input jsonb,
  msg_id bigint,
  task_index integer,
  flow_input jsonb
);
