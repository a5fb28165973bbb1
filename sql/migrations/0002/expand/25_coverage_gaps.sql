-- The marks of hosts that could not start for want of coverage.
create table if not exists pgflow.coverage_gaps (
  function_name text not null,
  queue_name text not null,
  modules_digest text not null,
  first_noted_at timestamptz not null default clock_timestamp(),
  last_noted_at timestamptz not null default clock_timestamp(),
  primary key (function_name, queue_name, modules_digest)
);
