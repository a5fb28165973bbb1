-- The marks of hosts that could not start because their queue needs steps that their
-- modules do not have: one row a function, queue and set of modules. The next start with
-- the same key stands by instead of ending once more, so that a supervisor that starts it
-- again at once makes no storm of starts. A start that comes through takes its mark away.
--
-- modules_digest   of the modules' sha256 sums, whatever their order (_modules_digest)
-- first_noted_at, last_noted_at   the first start that ended, the last one that was told
-- Locks: none beyond the row.
create table pgflow.coverage_gaps (
  function_name text not null,
  queue_name text not null,
  modules_digest text not null,
  first_noted_at timestamptz not null default clock_timestamp(),
  last_noted_at timestamptz not null default clock_timestamp(),
  primary key (function_name, queue_name, modules_digest)
);
