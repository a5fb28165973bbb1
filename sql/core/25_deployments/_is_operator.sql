-- Whether the session may do what is an operator's: its login is a member of
-- pgflow_operator, or of the owner of the schema. Asked of session_user: inside the
-- functions of the API current_user is their owner, and `set role` changes nobody.
create function pgflow._is_operator()
returns boolean
language sql
stable
set search_path = ''
as $$
  select exists (
    select
    from pg_catalog.pg_roles r
    where (r.rolname = 'pgflow_operator'
           or r.oid = (select n.nspowner from pg_catalog.pg_namespace n where n.nspname = 'pgflow'))
      and pg_has_role(session_user, r.oid, 'member'))
$$;
