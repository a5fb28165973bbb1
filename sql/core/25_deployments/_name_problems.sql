-- Names and words of a deployment that are not valid. by_host: the stricter rules
-- for deployments made by a host: no leading or trailing _, no __ (private queues
-- are named flow__step), step slugs unique ignoring case, 1 to 1000 steps.
create function pgflow._name_problems(deployment jsonb, by_host boolean)
returns setof text
language sql
immutable
set search_path = ''
as $$
  with names (what, name) as (
    select 'flowSlug', deployment ->> 'flowSlug'
    union all
    select 'alias', deployment ->> 'alias' where deployment ->> 'alias' is not null
    union all
    select 'step slug', s.step_slug from pgflow._deployment_steps(deployment) as s
  ),
  words (thing, given, allowed) as (
    select 'queueMode', coalesce(deployment ->> 'queueMode', 'flow'), '{flow,step,routed}'::text[]
    union all
    select format('%s of step "%s"', w.what, s.step_slug), w.given, w.allowed
    from pgflow._deployment_steps(deployment) as s
    cross join lateral (values
      ('stepType', s.step_type, '{single,map}'::text[]),
      ('whenUnmet', s.when_unmet, '{fail,skip,skip-cascade}'),
      ('whenExhausted', s.when_exhausted, '{fail,skip,skip-cascade}')) as w (what, given, allowed)
  )
  select format('%s "%s" is not valid: use 1 to 128 letters, digits and _, not starting with a digit; '
                '"run" is reserved', n.what, n.name)
  from names n where not pgflow.is_valid_slug(n.name)
  union all
  select format('%s "%s" is not valid: no _ at its start or end and no __, because private queues are named flow__step',
                n.what, n.name)
  from names n where by_host and pgflow.is_valid_slug(n.name) and n.name ~ '^_|_$|__'
  union all
  select format('%s is "%s": it must be %s', w.thing, w.given, array_to_string(w.allowed, ', '))
  from words w where w.given <> all (w.allowed)
  union all
  select format('step slug "%s" is used %s times%s', min(s.step_slug), count(*),
                case when by_host then ' (ignoring case)' else '' end)
  from pgflow._deployment_steps(deployment) as s
  group by case when by_host or deployment ->> 'queueMode' = 'step' then lower(s.step_slug) else s.step_slug end
  having count(*) > 1
  union all
  select format('the flow has %s steps: a deployment has 1 to 1000', jsonb_array_length(deployment -> 'steps'))
  where by_host and jsonb_array_length(deployment -> 'steps') not between 1 and 1000
$$;
