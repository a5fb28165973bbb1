-- Routes of a deployment that do not fit its queue mode, and queue names that
-- PGMQ could not take. In the modes flow and step routes may be spelled out, as
-- long as they say what the mode says.
create function pgflow._route_problems(deployment jsonb)
returns setof text
language sql
immutable
set search_path = ''
as $$
  with mode (name) as (
    select coalesce(deployment ->> 'queueMode', 'flow')
  ),
  steps as (
    select s.step_slug, s.queue_name from pgflow._deployment_steps(deployment) as s
  ),
  routes as (
    select r.key as step_slug, lower(r.value) as queue_name
    from jsonb_each_text(coalesce(nullif(deployment -> 'routes', 'null'), '{}')) as r
  )
  select format('step "%s" has no route: in queue mode routed every step names a queue', s.step_slug)
  from steps s where s.queue_name is null
  union all
  select format('the routes name step "%s", which the flow does not have', r.step_slug)
  from routes r where r.step_slug not in (select s.step_slug from steps s)
  union all
  select format('step "%s" is routed to queue "%s", but queue mode %s puts it on "%s"', s.step_slug, r.queue_name,
                m.name, s.queue_name)
  from mode m, routes r join steps s using (step_slug)
  where r.queue_name <> s.queue_name
  union all
  select format('queue name "%s" of step "%s" has %s bytes: the limit is 47', s.queue_name, min(s.step_slug),
                octet_length(s.queue_name))
  from steps s where octet_length(s.queue_name) > 47 group by s.queue_name
  union all
  select format('queue name "%s" of step "%s" is not valid: use letters, digits, _ and single hyphens between them',
                s.queue_name, min(s.step_slug))
  from steps s, mode m
  where m.name = 'routed' and s.queue_name !~ '^[a-z0-9_]+(-[a-z0-9_]+)*$'
  group by s.queue_name
$$;
