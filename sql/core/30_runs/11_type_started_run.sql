-- What a start with options answers: the columns of pgflow.runs, and is_new: this call started it. A type of its own,
-- so that callers do not see the columns that the table gains.
create type pgflow.started_run as (
  run_id uuid,
  flow_slug text,
  status text,
  input jsonb,
  output jsonb,
  remaining_steps int,
  started_at timestamptz,
  completed_at timestamptz,
  failed_at timestamptz,
  is_new boolean
);
