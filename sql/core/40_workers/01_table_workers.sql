-- One row a worker process and registration. queue_name is the one queue that
-- it polls, compared by lower(). info = {host, pid, version, modules: [{flow,
-- file, buildId, sha256}], protocol}. standby: alive, claims nothing, has no pairs.
-- needs_notify: it listens and takes no locks, so each start on its queue notifies it (docs/internals/wake.md).
-- pgflow_version: of a TypeScript worker of pgflow, which inserts its own row.
-- admitted_pin: the pin of its function under which its modules were found right.
create table pgflow.workers (
  worker_id uuid primary key,
  queue_name text not null,
  function_name text not null,
  started_at timestamptz not null default clock_timestamp(),
  deprecated_at timestamptz,
  stopped_at timestamptz,
  last_heartbeat_at timestamptz not null default clock_timestamp(),
  standby boolean not null default false,
  info jsonb not null default '{}',
  admitted_pin bigint,
  needs_notify boolean not null default true,
  pgflow_version text
);

create index workers_queue_idx on pgflow.workers (lower(queue_name)) where stopped_at is null;
create index workers_function_idx on pgflow.workers (function_name) where stopped_at is null;
create index workers_heartbeat_idx on pgflow.workers (last_heartbeat_at);
create index workers_to_notify_idx on pgflow.workers (lower(queue_name)) where needs_notify and stopped_at is null;
