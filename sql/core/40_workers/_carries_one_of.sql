-- Whether a worker carries exactly one of these module sets, [[module, ...], ...]. carried
-- is info -> 'modules'.
create function pgflow._carries_one_of(carried jsonb, module_sets jsonb)
returns boolean
language sql
immutable
set search_path = ''
as $$
  select exists (
    select
    from jsonb_array_elements(module_sets) as s (modules)
    where pgflow._carries_exactly(carried, array(select jsonb_array_elements_text(s.modules))))
$$;
