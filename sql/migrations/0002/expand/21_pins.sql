-- Pins of functions, and the way back of a deployment.
create table if not exists pgflow.function_pins (
  pin_id bigint generated always as identity primary key,
  function_name text not null,
  deployment text not null,
  queue_name text,
  flow_slug text,
  module_sets jsonb,
  pinned_at timestamptz not null default clock_timestamp(),
  pinned_by text not null default session_user,
  replaced_pin bigint,
  unpinned_at timestamptz,
  unpinned_by text,
  ended_at timestamptz,
  constraint function_pins_serve_one_thing check ((queue_name is null) <> (flow_slug is null)),
  constraint function_pins_module_sets_are_a_list check (jsonb_typeof(module_sets) = 'array')
);
create unique index if not exists function_pins_current on pgflow.function_pins (function_name) where ended_at is null;
create index if not exists function_pins_by_queue on pgflow.function_pins (queue_name)
  where ended_at is null and unpinned_at is null and module_sets is not null;
create index if not exists function_pins_by_flow on pgflow.function_pins (flow_slug)
  where ended_at is null and unpinned_at is null and module_sets is not null;
alter table pgflow.workers add column if not exists admitted_pin bigint;
alter table pgflow.deployment_manifest add column if not exists before_fence jsonb;
alter table pgflow.deployment_manifest add column if not exists aborting_at timestamptz;
alter table pgflow.deployment_manifest add column if not exists closed_at timestamptz;
alter table pgflow.deployment_manifest add column if not exists closed_by text;
alter table pgflow.deployment_manifest add column if not exists was_aborted boolean not null default false;
