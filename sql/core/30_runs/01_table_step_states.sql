-- One row per step of a run. Written under the lock of the run's row only, which therefore protects it.
--
-- initial_tasks: 1 for a single step, the number of elements for a map, null until the step is started or completed.
-- remaining_tasks counts down to 0 as tasks complete, so that no batch has to count the tasks of a map.
-- remaining_deps counts the dependencies that are neither completed nor skipped.
create table pgflow.step_states (
  flow_slug text not null,
  run_id uuid not null references pgflow.runs (run_id),
  step_slug text not null,
  status text not null default 'created',
  remaining_tasks int,
  initial_tasks int,
  remaining_deps int not null default 0,
  output jsonb,
  error_message text,
  skip_reason text,
  created_at timestamptz not null default clock_timestamp(),
  started_at timestamptz,
  completed_at timestamptz,
  failed_at timestamptz,
  skipped_at timestamptz,
  primary key (run_id, step_slug),
  constraint step_states_status_is_known
    check (status in ('created', 'started', 'completed', 'failed', 'skipped')),
  constraint step_states_counts_not_negative
    check (remaining_tasks >= 0 and initial_tasks >= 0 and remaining_deps >= 0),
  constraint step_states_remaining_within_initial check (remaining_tasks <= initial_tasks),
  constraint step_states_created_has_no_tasks
    check (status <> 'created' or (remaining_tasks is null and started_at is null)),
  constraint step_states_started_is_whole
    check (status <> 'started' or (remaining_tasks is not null and started_at is not null and remaining_deps = 0)),
  constraint step_states_completed_has_nothing_left
    check (status <> 'completed' or (remaining_tasks = 0 and remaining_deps = 0)),
  constraint step_states_output_only_when_completed check (output is null or status = 'completed'),
  constraint step_states_skip_reason_exactly_when_skipped check ((skip_reason is not null) = (status = 'skipped')),
  constraint step_states_skip_reason_is_known
    check (skip_reason in ('condition_unmet', 'handler_failed', 'dependency_skipped')),
  constraint step_states_completed_at_exactly_when_completed
    check ((completed_at is not null) = (status = 'completed')),
  constraint step_states_failed_at_exactly_when_failed check ((failed_at is not null) = (status = 'failed')),
  constraint step_states_skipped_at_exactly_when_skipped check ((skipped_at is not null) = (status = 'skipped')),
  constraint step_states_start_not_before_creation check (started_at >= created_at),
  constraint step_states_end_not_before_start
    check (completed_at >= started_at and failed_at >= coalesce(started_at, created_at)
           and skipped_at >= coalesce(started_at, created_at))
) with (
  -- No index but the key: every update stays HOT while the page has room.
  fillfactor = 60,
  autovacuum_vacuum_scale_factor = 0.02,
  autovacuum_analyze_scale_factor = 0.02
);
