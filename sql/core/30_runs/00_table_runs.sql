-- One row per start of a flow. Written by start_flow* and by the engine only; whoever changes anything of a run (its
-- states, the number or the end of its tasks) holds this row `for no key update` first.
--
-- remaining_steps counts the steps that are neither completed nor skipped; the run completes when it reaches 0.
-- failed_at is the end of a failed and of a cancelled run.
create table pgflow.runs (
  run_id uuid primary key,
  flow_slug text not null references pgflow.flows (flow_slug),
  status text not null default 'started',
  input jsonb not null,
  output jsonb,
  remaining_steps int not null default 0,
  started_at timestamptz not null default clock_timestamp(),
  completed_at timestamptz,
  failed_at timestamptz,
  constraint runs_status_is_known check (status in ('started', 'completed', 'failed', 'cancelled')),
  constraint runs_remaining_steps_not_negative check (remaining_steps >= 0),
  constraint runs_completed_has_nothing_left check (status <> 'completed' or remaining_steps = 0),
  constraint runs_output_only_when_completed check (output is null or status = 'completed'),
  constraint runs_completed_at_exactly_when_completed check ((completed_at is not null) = (status = 'completed')),
  constraint runs_failed_at_exactly_when_ended_otherwise
    check ((failed_at is not null) = (status in ('failed', 'cancelled'))),
  constraint runs_end_not_before_start check (completed_at >= started_at and failed_at >= started_at)
) with (
  -- A run is updated once per finished step (HOT, unless it ends) and never read again after it ended.
  fillfactor = 70,
  autovacuum_vacuum_scale_factor = 0.02,
  autovacuum_analyze_scale_factor = 0.02
);

-- Draining, coverage and retirement ask for the started runs of a flow.
create index runs_started on pgflow.runs (flow_slug) where status = 'started';

-- Listing asks for the latest.
create index runs_by_start on pgflow.runs (started_at);

-- Pruning asks for those that ended longest ago, however many older ones are still open.
create index runs_ended on pgflow.runs ((coalesce(completed_at, failed_at))) where status <> 'started';

-- Operators ask for those that failed or were cancelled; the others are not in it.
create index runs_failed on pgflow.runs (failed_at, run_id) where failed_at is not null;
