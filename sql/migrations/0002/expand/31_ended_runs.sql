-- The index by which pruning finds the runs that ended longest ago.
create index concurrently if not exists runs_ended on pgflow.runs ((coalesce(completed_at, failed_at))) where status <> 'started';
