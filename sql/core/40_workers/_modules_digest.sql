-- One text for the modules of a host, whatever their order: sha256 of their sorted sha256
-- sums, or build-ids where a host gives no sum. info is as for register_worker.
create function pgflow._modules_digest(info jsonb)
returns text
language sql
immutable
set search_path = ''
as $$
  select encode(sha256(convert_to(coalesce(string_agg(m.name, ',' order by m.name), ''), 'UTF8')), 'hex')
  from (
    select distinct lower(coalesce(m.module ->> 'sha256', m.module ->> 'buildId', '')) collate "C" as name
    from jsonb_array_elements(
      case jsonb_typeof(info -> 'modules') when 'array' then info -> 'modules' else '[]' end) as m (module)
  ) as m
$$;
