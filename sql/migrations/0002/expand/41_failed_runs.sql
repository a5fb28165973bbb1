-- The index by which operators find the runs that failed or were cancelled; the others are not in it.
create index concurrently if not exists runs_failed on pgflow.runs (failed_at, run_id) where failed_at is not null;
