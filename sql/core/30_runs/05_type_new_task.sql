-- A task about to be created, on its way to send_batch in an array (_create_tasks).
create type pgflow._new_task as (
  flow_slug text,
  run_id uuid,
  step_slug text,
  task_index int,
  input jsonb
);
