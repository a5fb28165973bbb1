-- How a route map of an existing client, [{"stepSlug": ..., "queueName": ...}] of every step in order, differs from the
-- routes of a deployment, as readable lines. None for a null map.
-- Locks: none.
create function pgflow._route_map_differences(deployment jsonb, route_map jsonb)
returns text[]
language sql
immutable
set search_path = ''
as $$
  select case
    when route_map is null or route_map = 'null' then '{}'
    when jsonb_typeof(route_map) <> 'array' then array[format('it is of type %s: it must be array', jsonb_typeof(route_map))]
    else (
      select coalesce(array_agg(
        case
          when given.step_slug is null then format('route %s of step "%s" is missing', routed.place, routed.step_slug)
          when routed.step_slug is null then format('route %s of step "%s" has no step', given.place, given.step_slug)
          else format('route %s is step "%s" on queue "%s", and it must be step "%s" on queue "%s"', given.place,
                      given.step_slug, given.queue_name, routed.step_slug, routed.queue_name)
        end order by coalesce(routed.place, given.place)), '{}')
      from (
        select s.step_index + 1 as place, s.step_slug, s.queue_name from pgflow._deployment_steps(deployment) as s
      ) as routed
      full join (
        select r.place, coalesce(r.route ->> 'stepSlug', '') as step_slug, coalesce(r.route ->> 'queueName', '') as queue_name
        from jsonb_array_elements(route_map) with ordinality as r (route, place)
      ) as given on given.place = routed.place
      where (given.step_slug, given.queue_name) is distinct from (routed.step_slug, routed.queue_name))
  end
$$;
