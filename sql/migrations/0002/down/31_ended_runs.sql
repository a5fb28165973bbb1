-- The index by which pruning finds the runs that ended longest ago.
drop index if exists pgflow.runs_ended;
