-- What applied manifests say of each function: which queues it is named for, and which
-- code may serve them. apply_manifest writes a row for each entry; the row without
-- ended_at is the one that counts, and the others are history.
--
-- deployment      the manifest that said so
-- queue_name, flow_slug   what the entry serves: exactly one is set
-- module_sets     [[module, ...], ...], build-ids and sha256 sums in lower case: a host
--                 must carry exactly one of these sets. Null: any code may serve
-- replaced_pin    the row that counted before; an abort goes back to it
-- unpinned_at     an operator let any code serve (unpin_worker_function); unpinned_by: who
-- Locks: writers hold the function's row. Registrations, heartbeats and claims read it
-- without a lock: docs/internals/sql-claims.md says why that is enough.
create table pgflow.function_pins (
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

create unique index function_pins_current on pgflow.function_pins (function_name) where ended_at is null;
create index function_pins_by_queue on pgflow.function_pins (queue_name)
  where ended_at is null and unpinned_at is null and module_sets is not null;
create index function_pins_by_flow on pgflow.function_pins (flow_slug)
  where ended_at is null and unpinned_at is null and module_sets is not null;
