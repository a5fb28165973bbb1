-- Which run was made from which, by retry and resume.
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

create index concurrently if not exists run_restarts_by_origin on pgflow.run_restarts (origin_run_id);
