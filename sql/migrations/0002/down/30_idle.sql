-- Which workers must be notified of each start.
alter table pgflow.workers drop column if exists needs_notify;
