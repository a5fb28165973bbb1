-- The index by which operators find the runs that failed or were cancelled.
drop index if exists pgflow.runs_failed;
