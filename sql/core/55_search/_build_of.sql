-- The build that a worker ran a flow by: the sha256 of its module, else the build-id. Null: the worker is not known any
-- more, or told no modules.
-- Locks: none.
create function pgflow._build_of(worker_id uuid, flow_slug text)
returns text
language sql
stable
set search_path = ''
as $$
  select coalesce(m.module ->> 'sha256', m.module ->> 'buildId')
  from (select x.info -> 'modules' as modules from pgflow.workers x where x.worker_id = _build_of.worker_id offset 0) w
  cross join lateral jsonb_array_elements(case jsonb_typeof(w.modules) when 'array' then w.modules else '[]' end) as m (module)
  where m.module ->> 'flow' = _build_of.flow_slug
  limit 1
$$;
