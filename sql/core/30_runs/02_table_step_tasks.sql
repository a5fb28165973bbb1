-- One row per task: the only task of a single step, one per element of a map. Created and ended by the engine under
-- the lock of the run's row; claimed, released and recovered under the lock of the task's row alone.
--
-- (queue_name, message_id) is the durable pair that a claim goes by. queue_name is a snapshot of the step's route and
-- never changes. claim_no is the fence: +1 at every claim, release and recovery, never back. attempts_count is the
-- retry budget. recover_at is set exactly while the task is started.
-- status: failed = a real handler failure; skipped = its step was skipped; cancelled = its run failed or was cancelled.
create table pgflow.step_tasks (
  flow_slug text not null,
  run_id uuid not null,
  step_slug text not null,
  task_index int not null default 0,
  queue_name text not null,
  message_id bigint,
  status text not null default 'queued',
  attempts_count int not null default 0,
  claim_no int not null default 0,
  claimed_exact boolean not null default false,
  recover_at timestamptz,
  input jsonb,
  error_message text,
  output jsonb,
  queued_at timestamptz not null default clock_timestamp(),
  started_at timestamptz,
  completed_at timestamptz,
  failed_at timestamptz,
  last_worker_id uuid,
  requeued_count int not null default 0,
  last_requeued_at timestamptz,
  released_count int not null default 0,
  permanently_stalled_at timestamptz,
  primary key (run_id, step_slug, task_index),
  foreign key (run_id, step_slug) references pgflow.step_states (run_id, step_slug),
  constraint step_tasks_status_is_known
    check (status in ('queued', 'started', 'completed', 'failed', 'skipped', 'cancelled')),
  constraint step_tasks_counts_not_negative
    check (task_index >= 0 and attempts_count >= 0 and claim_no >= 0 and requeued_count >= 0 and released_count >= 0),
  constraint step_tasks_recover_at_exactly_when_started check ((recover_at is not null) = (status = 'started')),
  constraint step_tasks_queued_has_not_started check (status <> 'queued' or started_at is null),
  constraint step_tasks_started_has_a_start check (status <> 'started' or started_at is not null),
  constraint step_tasks_output_only_when_completed_or_failed
    check (output is null or status in ('completed', 'failed')),
  constraint step_tasks_completed_at_exactly_when_completed
    check ((completed_at is not null) = (status = 'completed')),
  constraint step_tasks_failed_at_exactly_when_failed check ((failed_at is not null) = (status = 'failed')),
  constraint step_tasks_start_not_before_queueing check (started_at >= queued_at),
  constraint step_tasks_end_not_before_start check (completed_at >= started_at and failed_at >= started_at)
) with (
  -- A task lives through three versions (queued, started, ended): room for them on the page of the first.
  fillfactor = 50,
  autovacuum_vacuum_scale_factor = 0.02,
  autovacuum_analyze_scale_factor = 0.02
);

-- The claim finds the task of a message.
create unique index step_tasks_message on pgflow.step_tasks (queue_name, message_id) where message_id is not null;

-- Coverage and statistics ask which pairs are queued on a queue (say `status = 'queued'` to get this index).
create index step_tasks_queued on pgflow.step_tasks (queue_name, flow_slug, step_slug) where status = 'queued';

-- Recovery asks for deadlines that passed. It is also the short list of everything that is started: coverage and
-- release_tasks_except find their tasks here (say `status = 'started'`).
create index step_tasks_started on pgflow.step_tasks (recover_at) where status = 'started';
