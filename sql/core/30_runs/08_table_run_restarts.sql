-- Runs that were made from another one by retry_runs or resume_runs: one row a new run. Beside pgflow.runs, whose row
-- callers get as a result, and without foreign keys: retention deletes the older runs of a chain first.
--
-- restart_of_run_id   the run that was restarted
-- origin_run_id       the first run of the chain; the same for all that follow it
-- restart_no          counts the restarts of restart_of_run_id from 1: two callers cannot make the same one
-- resumed             true: finished work was taken over; false: started over from the beginning
-- by                  session_user
create table if not exists pgflow.run_restarts (
  run_id uuid primary key,
  restart_of_run_id uuid not null,
  origin_run_id uuid not null,
  restart_no int not null,
  resumed boolean not null,
  restarted_at timestamptz not null default clock_timestamp(),
  by text not null default session_user,
  constraint run_restarts_once unique (restart_of_run_id, restart_no)
);

-- A chain is asked for by its origin.
create index if not exists run_restarts_by_origin on pgflow.run_restarts (origin_run_id);
