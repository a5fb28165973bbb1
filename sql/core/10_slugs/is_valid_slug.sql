-- Whether a text may name a flow, a step or an alias: 1 to 128 characters,
-- letters, digits and _, not starting with a digit, not "run" (realtime topics
-- and existing clients use that word themselves). Null is not valid.
-- Locks: none.
create function pgflow.is_valid_slug(slug text)
returns boolean
language sql
immutable
parallel safe
set search_path = ''
as $$
  select coalesce(
    length(slug) <= 128 and slug <> 'run' and slug ~ '^[A-Za-z_][A-Za-z0-9_]*$', false)
$$;
