-- Why load_manifest would refuse a manifest, as readable lines; none: it would load
-- it. Nothing is written.
-- Locks: none.
create function pgflow.manifest_problems(manifest jsonb)
returns setof text
language plpgsql
stable
set search_path = ''
as $$
begin
  return query select p.line from pgflow._manifest_problems(manifest) as p (line);
  if found then
    return;
  end if;
  return query
  select p.line from pgflow._unknown_services(manifest) as p (line)
  union all
  select p.line from pgflow._left_out_functions(manifest) as p (line)
  union all
  select 'its deployment has begun, with another manifest: give this one a name of its own'
  from pgflow.deployment_manifest d
  where d.deployment = manifest_problems.manifest ->> 'deployment'
    and d.manifest <> manifest_problems.manifest
    and (d.fenced_at is not null or d.applied_at is not null);
end
$$;
