-- Which workers must be notified of each start (sql/core/40_workers/01_table_workers.sql): those that are there listen
-- and take no locks.
alter table pgflow.workers add column if not exists needs_notify boolean not null default true;
create index if not exists workers_to_notify_idx on pgflow.workers (lower(queue_name))
  where needs_notify and stopped_at is null;
