-- What is wrong with the JSON of a deployment as JSON: missing fields and fields
-- of another type, by path. Nothing else looks at a deployment before this is empty.
create function pgflow._structure_problems(deployment jsonb)
returns setof text
language sql
immutable
set search_path = ''
as $$
  with steps as (
    select s.step, format('steps[%s]', s.position - 1) as path
    from jsonb_array_elements(
      case jsonb_typeof(deployment -> 'steps') when 'array' then deployment -> 'steps' else '[]' end)
      with ordinality as s (step, position)
  ),
  patterns as (
    select format('%s.%s', s.path, k.name) as path, s.step -> k.name as pattern
    from steps s cross join (values ('requiredInputPattern'), ('forbiddenInputPattern')) as k (name)
    where jsonb_typeof(s.step -> k.name) = 'object'
  ),
  fields (path, field, allowed) as (
    select k.name, deployment -> k.name, k.allowed
    from (values
      ('flowSlug', '{string}'::text[]), ('alias', '{string,"null"}'), ('queueMode', '{string,"null"}'),
      ('routes', '{object,"null"}'), ('options', '{object,"null"}'), ('steps', '{array}')) as k (name, allowed)
    union all
    select s.path, s.step, '{object}' from steps s
    union all
    select format('%s.%s', s.path, k.name), s.step -> k.name, k.allowed
    from steps s
    cross join (values
      ('slug', '{string}'::text[]), ('stepType', '{string,"null"}'), ('dependencies', '{array,"null"}'),
      ('whenUnmet', '{string,"null"}'), ('whenExhausted', '{string,"null"}'),
      ('requiredInputPattern', '{object,"null"}'), ('forbiddenInputPattern', '{object,"null"}'),
      ('options', '{object,"null"}'), ('contract', '{string,"null"}'),
      ('wantsFlowInput', '{boolean,"null"}')) as k (name, allowed)
    where jsonb_typeof(s.step) = 'object'
    union all
    select format('%s.dependencies[%s]', s.path, d.position - 1), d.slug, '{string}'
    from steps s
    cross join jsonb_array_elements(
      case jsonb_typeof(s.step -> 'dependencies') when 'array' then s.step -> 'dependencies' else '[]' end)
      with ordinality as d (slug, position)
    union all
    select format('%s.defined', p.path), p.pattern -> 'defined', '{boolean}' from patterns p
    union all
    select format('%s.value', p.path), p.pattern -> 'value', '{object}'
    from patterns p where p.pattern -> 'defined' = 'true'
    union all
    select format('routes.%s', r.key), r.value, '{string}'
    from jsonb_each(
      case jsonb_typeof(deployment -> 'routes') when 'object' then deployment -> 'routes' else '{}' end) as r
  )
  select format('%s must be %s, not %s', f.path, array_to_string(f.allowed, ' or '),
                coalesce(jsonb_typeof(f.field), 'absent'))
  from fields f
  where coalesce(jsonb_typeof(f.field), 'null') <> all (f.allowed)
$$;
