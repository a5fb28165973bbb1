-- The ledger goes last.
drop table if exists pgflow.schema_steps;
