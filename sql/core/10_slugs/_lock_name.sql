-- Takes the one lock of a name until the end of the transaction. Aliases and
-- concrete slugs are one namespace, ignoring case, so they share the key. It is
-- an advisory lock because it must also hold for names that do not exist yet.
-- Order: the alias first, then the concrete slug (_lock_flow), then rows.
create function pgflow._lock_name(name text)
returns void
language sql
set search_path = ''
as $$
  select pg_advisory_xact_lock(1, hashtext(lower(name)))
$$;
