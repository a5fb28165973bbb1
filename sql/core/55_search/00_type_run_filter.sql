-- What an operator asks runs by, read from jsonb by _read_run_filter; a null field asks for nothing.
--
-- flow_slugs     the versions of an alias, or one concrete flow
-- statuses       all of them when none was asked for
-- step_slug      a step of this name failed
-- error          regular expression, on the error of the step that failed
-- since, until   bounds of `at` (_matching_runs)
-- worker_ids     one of them had the last attempt of a task: of the failed step, where one failed
-- is_unrestarted   no other run was made of it by retry or resume
-- by_end         runs come by the time of their failure
create type pgflow._run_filter as (
  flow_slugs text[],
  statuses text[],
  step_slug text,
  error text,
  since timestamptz,
  until timestamptz,
  worker_ids uuid[],
  is_unrestarted boolean,
  by_end boolean
);
