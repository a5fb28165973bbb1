-- Whether this database is a developer's: there a flow whose shape changed is
-- deleted with its data and compiled anew. Said by whoever owns the database:
--   alter database NAME set pgflow.is_local = on
-- or by the well-known JWT secret of a local Supabase stack. A setting of the
-- session or of a role does not count: a worker must not be able to claim it.
create function pgflow.is_local()
returns boolean
language sql
stable
set search_path = ''
as $$
  select exists (
    select
    from pg_catalog.pg_db_role_setting s
    cross join unnest(s.setconfig) as c (setting)
    where s.setrole = 0
      and s.setdatabase = (select d.oid from pg_catalog.pg_database d where d.datname = current_database())
      and c.setting in (
        'pgflow.is_local=on', 'pgflow.is_local=true', 'pgflow.is_local=1',
        'app.settings.jwt_secret=super-secret-jwt-token-with-at-least-32-characters-long'))
$$;
