-- One line that says how a part of a step differs, or null when it does not, or
-- when the two are not the same step. Long values are cut.
create function pgflow._difference(
  part text,
  stored_step text,
  given_step text,
  stored text,
  given text
)
returns text
language sql
immutable
set search_path = ''
as $$
  select case when stored_step = given_step and stored is distinct from given then
    format('%s of step "%s": %s in the database, %s in the deployment',
           part, stored_step, coalesce(left(stored, 200), 'none'), coalesce(left(given, 200), 'none'))
  end
$$;
