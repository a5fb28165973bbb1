-- Raises 22023 unless every dependency of a new step is an existing step of the
-- flow, and named once.
create function pgflow._check_dependencies(flow_slug text, step_slug text, deps_slugs text[])
returns void
language plpgsql
stable
set search_path = ''
as $$
declare
  bad text;
begin
  select d.slug into bad from unnest(deps_slugs) as d (slug) group by d.slug having count(*) > 1 limit 1;
  if found then
    raise exception 'step "%" of flow "%" names dependency "%" twice', step_slug, flow_slug, bad
      using errcode = 'invalid_parameter_value', hint = 'Name it once.';
  end if;

  select coalesce(d.slug, '(null)') into bad
  from unnest(deps_slugs) as d (slug)
  where not exists (
    select from pgflow.steps s
    where s.flow_slug = _check_dependencies.flow_slug and s.step_slug = d.slug)
  limit 1;
  if found then
    raise exception 'step "%" of flow "%" depends on unknown step "%"', step_slug, flow_slug, bad
      using errcode = 'invalid_parameter_value', hint = 'Add that step first; slugs are case sensitive.';
  end if;
end
$$;
