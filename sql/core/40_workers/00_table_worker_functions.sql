-- The deployed worker functions: what may start workers. enabled alone decides;
-- paused_at and pause_reason say that the guard disabled it, and why:
-- {queue, messageIds, pairs, workerId, info}. start_mode 'http': ensure_workers()
-- pings it; 'process': its hosts are started by their own supervisor.
create table pgflow.worker_functions (
  function_name text primary key check (function_name <> ''),
  enabled boolean not null default true,
  debounce interval not null default '6 seconds' check (debounce >= '0 seconds'),
  last_invoked_at timestamptz,
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp(),
  start_mode text not null default 'http' check (start_mode in ('http', 'process')),
  paused_at timestamptz,
  pause_reason jsonb
);
