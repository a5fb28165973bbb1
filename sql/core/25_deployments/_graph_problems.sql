-- Dependencies and input flags of a deployment that do not fit together. Every
-- dependency names an earlier step, so there are no cycles.
create function pgflow._graph_problems(deployment jsonb)
returns setof text
language sql
immutable
set search_path = ''
as $$
  with steps as (
    select * from pgflow._deployment_steps(deployment)
  ),
  edges as (
    select s.step_slug, s.step_index, d.slug as dep_slug, count(*) as times
    from steps s cross join unnest(s.dependencies) as d (slug)
    group by s.step_slug, s.step_index, d.slug
  )
  select format('step "%s" depends on "%s", which is not an earlier step', e.step_slug, e.dep_slug)
  from edges e
  where not exists (select from steps s where s.step_slug = e.dep_slug and s.step_index < e.step_index)
  union all
  select format('step "%s" names dependency "%s" %s times', e.step_slug, e.dep_slug, e.times)
  from edges e where e.times > 1
  union all
  select format('map step "%s" has %s dependencies: it maps the array of at most one', s.step_slug,
                cardinality(s.dependencies))
  from steps s where s.step_type = 'map' and cardinality(s.dependencies) > 1
  union all
  select format('root map step "%s" wants the flow input, which its elements already are', s.step_slug)
  from steps s where s.step_type = 'map' and s.wants_flow_input and s.dependencies = '{}'
$$;
