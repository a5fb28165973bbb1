-- One concrete step of one concrete flow: what a worker can run.
create type pgflow.task_pair as (
  flow_slug text,
  step_slug text
);
