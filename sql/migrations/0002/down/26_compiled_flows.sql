-- Which flows were compiled as a whole.
alter table pgflow.flows drop column if exists compiled_at;
