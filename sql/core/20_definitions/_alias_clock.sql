-- The latest time that an alias knows: creation of its versions and its
-- switches. Null for a new one. What is written next is not before it.
-- The caller holds the alias lock.
create function pgflow._alias_clock(alias text)
returns timestamptz
language sql
stable
set search_path = ''
as $$
  select greatest(
    (select max(f.created_at) from pgflow.flows f where f.alias = _alias_clock.alias),
    (select max(s.at) from pgflow.alias_switches s where s.alias = _alias_clock.alias))
$$;
