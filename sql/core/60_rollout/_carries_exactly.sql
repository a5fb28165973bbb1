-- Whether a worker row carries exactly these modules, each named by build-id or
-- sha256 in lower case. carried is info -> 'modules'; what is no list carries nothing.
create function pgflow._carries_exactly(carried jsonb, modules text[])
returns boolean
language sql
immutable
set search_path = ''
as $$
  with module as (
    select coalesce(lower(m.module ->> 'buildId'), '') as build_id, coalesce(lower(m.module ->> 'sha256'), '') as sha256
    from jsonb_array_elements(case jsonb_typeof(carried) when 'array' then carried else '[]' end) as m (module)
  )
  select not exists (
      select from module m where m.build_id <> all (modules) and m.sha256 <> all (modules))
    and not exists (
      select from unnest(modules) as n (name)
      where not exists (select from module m where n.name in (m.build_id, m.sha256)))
$$;
