-- Keys that starts were given.
create table if not exists pgflow.idempotency_keys (
  alias text not null,
  key text not null,
  run_id uuid not null,
  created_at timestamptz not null default clock_timestamp(),
  primary key (alias, key),
  constraint idempotency_keys_key_has_a_length check (length(key) between 1 and 255)
);

create index concurrently if not exists idempotency_keys_by_run on pgflow.idempotency_keys (run_id);
