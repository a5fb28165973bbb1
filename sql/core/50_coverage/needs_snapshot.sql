-- What hosts of this database must carry, as one document: for pgflowctl snapshot and
-- preflight. It holds no payload, but the flows as they were compiled, with the patterns of their
-- conditions and their contracts.
--
-- format, format_version   pgflow-snapshot, 1
-- taken_at, schema_version, oldest_host, is_local
-- flows       _snapshot_flows;  queues      _snapshot_queues
-- hosts       _snapshot_hosts;  needs       _snapshot_needs
-- The cost grows with flows, queues and hosts, not with runs.
-- Locks: none.
create function pgflow.needs_snapshot()
returns jsonb
language sql
stable
set search_path = ''
as $$
  select jsonb_build_object(
    'format', 'pgflow-snapshot',
    'format_version', 1,
    'taken_at', to_char(clock_timestamp() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'),
    'schema_version', v.version,
    'oldest_host', v.oldest_host,
    'is_local', pgflow.is_local(),
    'flows', pgflow._snapshot_flows(),
    'queues', pgflow._snapshot_queues(),
    'hosts', pgflow._snapshot_hosts(),
    'needs', pgflow._snapshot_needs())
  from pgflow.schema_version() as v
$$;
