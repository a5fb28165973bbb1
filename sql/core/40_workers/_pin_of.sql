-- The pin of a function that is in force: its modules are given and nobody lifted them.
-- All null: any code may serve the function.
-- Locks: none.
create function pgflow._pin_of(function_name text)
returns pgflow.function_pins
language sql
stable
set search_path = ''
as $$
  select p
  from pgflow.function_pins p
  where p.function_name = $1 and p.ended_at is null and p.unpinned_at is null and p.module_sets is not null
$$;
