-- Workers of pgflow 0.17.1 insert their version with their row.
alter table pgflow.workers add column if not exists pgflow_version text;
