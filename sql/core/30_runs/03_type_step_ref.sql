-- One step of one run, as the functions of the engine hand it on in arrays.
-- note: for a finished step 'cascade' when its downstream falls with it; for a failed one the error.
create type pgflow._step_ref as (
  run_id uuid,
  flow_slug text,
  step_slug text,
  note text
);
