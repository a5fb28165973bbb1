-- The functions that this project made: those of schema pgflow, and those of schema
-- pgmq that have the same owner and do not belong to the extension.
create function pgflow._own_functions()
returns setof regprocedure
language sql
stable
set search_path = ''
as $$
  select p.oid::regprocedure
  from pg_catalog.pg_proc p
  join pg_catalog.pg_namespace n on n.oid = p.pronamespace
  where n.nspname in ('pgflow', 'pgmq')
    and p.proowner = (select o.nspowner from pg_catalog.pg_namespace o where o.nspname = 'pgflow')
    and not exists (
      select from pg_catalog.pg_depend d
      where d.classid = 'pg_catalog.pg_proc'::regclass and d.objid = p.oid and d.deptype = 'e')
$$;
