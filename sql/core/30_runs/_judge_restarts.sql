-- Locks the runs that are to be restarted and refuses those that cannot be: unknown, still at work, completed (only for
-- a resume), restarted before (unless again), or without the array that a root map of the target needs.
--
-- target     the concrete flow that the new runs belong to; null: each on its own flow
-- input      the input of the new runs; null: each its own
-- Gives back the restarts with refused set.
-- Locks: the runs by id. A second caller waits here and then finds the restart of the first.
create function pgflow._judge_restarts(
  restarts pgflow._restart[], target text, input jsonb, resumes boolean, again boolean)
returns pgflow._restart[]
language plpgsql
set search_path = ''
as $$
begin
  perform
  from (select x.run_id from unnest(restarts) x order by x.run_id) a
  join pgflow.runs r on r.run_id = any (array[a.run_id])
  order by a.run_id
  for no key update of r;

  return array(
    with root_map as materialized (
      select distinct on (x.flow_slug) x.flow_slug, x.step_slug
      from (select distinct coalesce(target, a.flow_slug) as flow_slug from unnest(restarts) a) f
      cross join lateral (
        select s.flow_slug, s.step_slug, s.step_index
        from pgflow.steps s
        where s.flow_slug = f.flow_slug and s.step_type = 'map' and s.deps_count = 0
        offset 0) x
      order by x.flow_slug, x.step_index
    )
    select row(a.place, a.run_id, a.flow_slug, a.new_run_id, '{}', '{}', '{}', coalesce(a.refused, case
      when r.run_id is null then 'there is no run ' || a.run_id || '; it may have been pruned or deleted with its flow'
      when r.status = 'started' then 'it is still at work; cancel it first (pgflow.cancel_run)'
      when r.status = 'completed' and resumes then 'it completed: nothing is left to resume; retry_runs starts it over'
      when earlier.run_id is not null and again is not true
        then format('it was restarted as run %s at %s; say again => true for another restart',
                    earlier.run_id, date_trunc('second', earlier.restarted_at))
      when root.step_slug is not null and coalesce(r.kind, '') <> 'array'
        then format('the map step "%s" of flow "%s" needs an array as input, and the input is of type %s',
                    root.step_slug, coalesce(target, a.flow_slug), r.kind)
    end))::pgflow._restart
    from unnest(restarts) a
    left join lateral (
      select x.run_id, x.status, jsonb_typeof(coalesce(_judge_restarts.input, x.input)) as kind
      from pgflow.runs x
      where x.run_id = a.run_id
      offset 0) r on true
    left join lateral (
      select x.run_id, x.restarted_at
      from pgflow.run_restarts x
      where x.restart_of_run_id = a.run_id
      order by x.restart_no desc
      limit 1) earlier on true
    left join lateral (
      select x.step_slug from root_map x where x.flow_slug = coalesce(target, a.flow_slug) limit 1) root on true);
end
$$;
