-- The version of pgflow that a worker told.
alter table pgflow.workers drop column if exists pgflow_version;
