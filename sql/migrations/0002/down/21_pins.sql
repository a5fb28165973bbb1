-- Pins of functions, and the way back of a deployment.
alter table pgflow.deployment_manifest drop column if exists was_aborted;
alter table pgflow.deployment_manifest drop column if exists closed_by;
alter table pgflow.deployment_manifest drop column if exists closed_at;
alter table pgflow.deployment_manifest drop column if exists aborting_at;
alter table pgflow.deployment_manifest drop column if exists before_fence;
alter table pgflow.workers drop column if exists admitted_pin;
drop table if exists pgflow.function_pins;
