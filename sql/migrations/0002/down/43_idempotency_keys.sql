-- Keys that starts were given.
drop table if exists pgflow.idempotency_keys;
