-- The module sets of the live workers of a function that work, [[module, ...], ...], each
-- module by its build-id, or by its sha256 sum where it has none; null: nobody works, or
-- nobody says what he carries.
-- Locks: none.
create function pgflow._module_sets_at_work(function_name text)
returns jsonb
language sql
stable
set search_path = ''
as $$
  select jsonb_agg(distinct s.modules)
  from pgflow.workers w
  cross join lateral (
    select jsonb_agg(m.name order by m.name) as modules
    from (
      select distinct lower(coalesce(nullif(c.module ->> 'buildId', ''), c.module ->> 'sha256')) as name
      from jsonb_array_elements(case jsonb_typeof(w.info -> 'modules') when 'array' then w.info -> 'modules' else '[]' end) as c (module)
    ) as m
    where m.name is not null
  ) as s
  where w.function_name = $1 and w.stopped_at is null and pgflow._is_live(w) and not w.standby and s.modules is not null
$$;
