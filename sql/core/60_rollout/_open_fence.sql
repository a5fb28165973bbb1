-- The deployment whose fence holds a function: fenced and not applied since, or on its way
-- back (abort_manifest). Null: no open deployment disabled it. Of several that name the
-- function, the one that was fenced last speaks.
-- Locks: none.
create function pgflow._open_fence(function_name text)
returns text
language sql
stable
set search_path = ''
as $$
  select last.deployment
  from (
    select d.deployment, e.action, d.aborting_at is not null or coalesce(d.applied_at < d.fenced_at, true) as is_open
    from pgflow.deployment_manifest d
    cross join lateral pgflow._manifest_entries(d.manifest) as e
    where d.fenced_at is not null
      and d.closed_at is null
      and d.manifest @> jsonb_build_object('entries', jsonb_build_array(jsonb_build_object('functionName', $1)))
      and e.function_name = $1
    order by d.fenced_at desc
    limit 1
  ) as last
  where last.is_open and last.action in ('replace', 'add')
$$;
