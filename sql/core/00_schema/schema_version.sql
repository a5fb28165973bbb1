-- The installed schema version. One row: version, and oldest_host, the oldest
-- host number that may run on it. A host runs when its own number lies between.
-- Locks: none.
create function pgflow.schema_version(out version int, out oldest_host int)
language sql
stable
set search_path = ''
as $$
  select m.version, m.oldest_host
  from pgflow.schema_migrations m
  order by m.version desc
  limit 1
$$;
