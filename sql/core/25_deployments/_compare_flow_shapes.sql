-- The differences of two shapes as readable lines, in step order; none when they
-- are the same. local: the deployment's; db: the one stored.
-- Compared: slug, type, dependencies as a set, condition modes and patterns.
-- Where the slugs of a position differ, nothing else of it is compared.
create function pgflow._compare_flow_shapes(local jsonb, db jsonb)
returns text[]
language sql
immutable
set search_path = ''
as $$
  select coalesce(array_agg(d.line order by d.step_index, d.part), '{}')
  from (
    select coalesce(l.step_index, s.step_index) as step_index, p.part, p.line
    from pgflow._deployment_steps(local) as l
    full join pgflow._deployment_steps(db) as s on s.step_index = l.step_index
    cross join lateral (values
      (1, case
        when s.step_slug is null then format('step %s "%s" is in the deployment only', l.step_index, l.step_slug)
        when l.step_slug is null then format('step %s "%s" is in the database only', s.step_index, s.step_slug)
        when s.step_slug <> l.step_slug
          then format('step %s: "%s" in the database, "%s" in the deployment', s.step_index, s.step_slug, l.step_slug)
      end),
      (2, pgflow._difference('type', s.step_slug, l.step_slug, s.step_type, l.step_type)),
      (3, pgflow._difference('dependencies', s.step_slug, l.step_slug,
            format('[%s]', array_to_string(s.dependencies, ', ')),
            format('[%s]', array_to_string(l.dependencies, ', ')))),
      (4, pgflow._difference('whenUnmet', s.step_slug, l.step_slug, s.when_unmet, l.when_unmet)),
      (5, pgflow._difference('whenExhausted', s.step_slug, l.step_slug, s.when_exhausted, l.when_exhausted)),
      -- As jsonb: 1.0 is 1.
      (6, case when s.required_input_pattern is distinct from l.required_input_pattern
        then pgflow._difference('requiredInputPattern', s.step_slug, l.step_slug,
               s.required_input_pattern::text, l.required_input_pattern::text) end),
      (7, case when s.forbidden_input_pattern is distinct from l.forbidden_input_pattern
        then pgflow._difference('forbiddenInputPattern', s.step_slug, l.step_slug,
               s.forbidden_input_pattern::text, l.forbidden_input_pattern::text) end)
    ) as p (part, line)
    where p.line is not null
  ) as d
$$;
