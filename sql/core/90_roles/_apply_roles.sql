-- Puts the whole security model in place: the three roles, security definer on every
-- function that one of them may call, and exactly the grants of _api_grants on
-- functions; USAGE on the schema; SELECT on flows and steps for clients and on
-- everything for operators. PUBLIC has nothing. Repeatable; every migration that
-- adds a table or function ends with it.
--
-- Functions run with the rights of the owner of the schema and record session_user.
-- They are written for an empty search_path and run with pg_catalog, pg_temp: an empty
-- one looks for types and tables in pg_temp first, where any session may put a domain
-- named text whose check is its own function. That holds for internal functions too,
-- and for those of the embedded queue: the path of the innermost function counts.
-- Locks: the catalog rows of the schemas pgflow and pgmq.
create function pgflow._apply_roles()
returns void
language plpgsql
set search_path = ''
as $$
declare
  missing text[] := pgflow._create_roles();
  present text[] := array(
    select n.name from unnest(array['pgflow_worker', 'pgflow_client', 'pgflow_operator']) as n (name)
    where n.name <> all (missing));
  statement text;
begin
  for statement in
    select format('alter function %s set search_path = pg_catalog, pg_temp', p.routine)
    from pgflow._own_functions() as p (routine)
    union all
    select format('alter function %s security definer', g.routine)
    from (select distinct routine from pgflow._api_grants()) as g
    union all
    select format(s.template, 'public') from pgflow._revocations() as s (template)
    union all
    select format(s.template, quote_ident(p.name))
    from unnest(present) as p (name), pgflow._revocations() as s (template)
    union all
    select format('grant usage on schema pgflow to %I', p.name) from unnest(present) as p (name)
    union all
    select format('grant execute on function %s to %I', g.routine, g.role_name)
    from pgflow._api_grants() as g
    where g.role_name = any (present)
    union all
    select format(t.template, t.role_name)
    from (values
      ('grant select on pgflow.flows, pgflow.steps to %I', 'pgflow_client'),
      ('grant select on all tables in schema pgflow to %I', 'pgflow_operator')) as t (template, role_name)
    where t.role_name = any (present)
  loop
    execute statement;
  end loop;
end
$$;
