-- Carries new runs on from their inserted states, whatever steps and however many they are: root steps that started
-- get tasks, those with a condition or a map are decided. Returns the queues with a message visible now.
-- Locks: none; the caller made the runs.
create function pgflow._advance_new_runs(run_ids uuid[], plan pgflow._plan)
returns text[]
language plpgsql
set search_path = ''
as $$
declare
  opened pgflow._step_ref[];
  ready pgflow._step_ref[];
  woken text[];
begin
  select coalesce(array_agg(x.ref order by x.run_place, x.step_place) filter (where x.starts), '{}'),
         coalesce(array_agg(x.ref order by x.run_place, x.step_place) filter (where not x.starts), '{}')
  into opened, ready
  from (
    select row(r.run_id, plan.flow_slug, s.step_slug, null)::pgflow._step_ref as ref, s.starts,
           r.place as run_place, s.place as step_place
    from unnest(run_ids) with ordinality as r (run_id, place)
    cross join unnest(plan.steps) with ordinality
                 as s (step_slug, step_type, deps_count, starts, queue_name, delay, place)
    where s.deps_count = 0
  ) x;

  select a.woken into woken
  from pgflow._advance('{}', ready, opened, '{}', cardinality(run_ids) * cardinality(plan.steps), run_ids) a;
  return woken;
end
$$;
