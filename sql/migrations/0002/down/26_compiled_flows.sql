-- Which flows were compiled as a whole.
drop table if exists pgflow.compiled_flows;
