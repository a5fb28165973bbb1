-- What of an upgrade is done, statement by statement, so that one that was killed goes on behind its last.
-- Written by pgflowctl migrate only; empty in a database that was installed at its present version.
--
-- phase   expand | contract; a step named 'done' closes the phase
-- step    the file below sql/migrations/<version>/<phase>/ and the statement's number in it
-- digest  of the statement's text: another text is another step, and runs again
create table if not exists pgflow.schema_steps (
  version int not null check (version > 0),
  phase text not null check (phase in ('expand', 'contract')),
  step text not null,
  digest text not null default '',
  done_at timestamptz not null default pg_catalog.clock_timestamp(),
  primary key (version, phase, step)
);

comment on table pgflow.schema_steps is
  'Statements of an upgrade that are done: where pgflowctl migrate goes on when it is run again';
