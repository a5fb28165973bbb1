-- Creates the roles that are missing; they cannot log in and are granted to those
-- that do. Returns the ones that are still missing, because the caller may not
-- create roles: a warning with the statements, so that an installation without
-- that right works for its owner.
-- Locks: none; two databases of one cluster may do this at once.
create function pgflow._create_roles()
returns text[]
language plpgsql
set search_path = ''
as $$
declare
  role_name text;
  missing text[] := '{}'::text[];
begin
  foreach role_name in array array['pgflow_worker', 'pgflow_client', 'pgflow_operator'] loop
    if to_regrole(role_name) is not null then
      continue;
    end if;
    begin
      execute format('create role %I nologin', role_name);
    exception
      when insufficient_privilege then
        missing := missing || role_name;
      when duplicate_object or unique_violation then
        null;
    end;
  end loop;

  if missing <> '{}' then
    raise warning 'roles missing, and "%" may not create roles: %', current_user, array_to_string(missing, ', ')
      using hint = format(e'As a role that may: %s\nThen, as "%s": select pgflow._apply_roles();',
        (select string_agg(format('create role %I nologin;', m.name), ' ') from unnest(missing) as m (name)),
        current_user);
  end if;
  return missing;
end
$$;
