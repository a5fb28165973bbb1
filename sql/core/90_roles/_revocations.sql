-- What takes every right on schema pgflow from a role, as templates of statements.
create function pgflow._revocations()
returns setof text
language sql
stable
set search_path = ''
as $$
  select 'revoke all on schema pgflow from %s'
  union all
  select 'revoke all on all tables in schema pgflow from %s'
  union all
  select 'revoke all on all sequences in schema pgflow from %s'
  union all
  select 'revoke all on all routines in schema pgflow from %s'
  union all
  select format('revoke all on type %s from %%s', t.oid::regtype)
  from pg_type t
  left join pg_class c on c.oid = t.typrelid
  where t.typnamespace = 'pgflow'::regnamespace and t.typtype in ('c', 'e', 'd')
    and coalesce(c.relkind, 'c') = 'c'
$$;
