-- Functions of the API that a role may not call though it should: what _api_grants lists and is not there, because
-- somebody revoked it. Roles that are missing are passed over. The remedy is _apply_roles().
-- Locks: none.
create function pgflow.missing_grants()
returns table (role_name text, routine text)
language sql
stable
security definer
set search_path = ''
as $$
  select g.role_name, p.oid::regproc::text
  from pgflow._api_grants() g
  join pg_catalog.pg_proc p on p.oid = g.routine
  where to_regrole(g.role_name) is not null
    and not has_function_privilege(to_regrole(g.role_name)::oid, g.routine, 'execute')
  order by 1, 2
$$;
