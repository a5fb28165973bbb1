-- Helpers that every pgTAP file may use; loaded once per area, schema pgflow_test.
create schema pgflow_test;
