-- Counts verdicts into the step states, in one statement: a single step ends with its task, a map when its last one
-- completed. Gives back the steps that finished (single steps completed, steps skipped; note 'cascade'), the steps that
-- failed (note: the error), and the maps whose last task completed, which wait for their array (_close_maps).
-- Locks: the caller holds the runs.
create function pgflow._count_results(
  verdicts pgflow._verdict[],
  out finished pgflow._step_ref[],
  out failed pgflow._step_ref[],
  out full_maps pgflow._step_ref[]
)
language plpgsql
set search_path = ''
as $$
begin
  with step as materialized (
    select v.run_id, v.step_slug, v.is_map, case when v.verdict = 'completed' then 1 else 0 end as completed,
           nullif(v.verdict, 'completed') as ending, v.error,
           case when v.verdict = 'completed' then v.output end as output
    from unnest(verdicts) v
    where not v.is_map and v.verdict not in ('again', 'late', 'retry')
    union all
    select v.run_id, v.step_slug, true, count(*) filter (where v.verdict = 'completed')::int,
           max(nullif(v.verdict, 'completed')), min(v.error), null
    from unnest(verdicts) v
    where v.is_map and v.verdict not in ('again', 'late', 'retry')
    group by v.run_id, v.step_slug
  ), counted as (
    update pgflow.step_states st
    set status = n.status,
        remaining_tasks = case when n.status = 'skipped' then 0 else st.remaining_tasks - s.completed end,
        output = s.output,
        error_message = s.error,
        skip_reason = case when n.status = 'skipped' then 'handler_failed' end,
        completed_at = case when n.status = 'completed' then greatest(clock_timestamp(), st.started_at) end,
        failed_at = case when n.status = 'failed' then greatest(clock_timestamp(), st.started_at) end,
        skipped_at = case when n.status = 'skipped' then greatest(clock_timestamp(), st.started_at) end
    from step s
    cross join lateral (select case
      when s.ending in ('skip', 'skip-cascade') then 'skipped'
      when s.ending is not null then 'failed'
      when s.is_map then 'started'
      else 'completed' end) as n (status)
    where st.run_id = any (array[s.run_id]) and st.step_slug = s.step_slug
    returning st.status, st.remaining_tasks, row(st.run_id, st.flow_slug, st.step_slug,
      case st.status when 'failed' then s.error
                     when 'skipped' then case s.ending when 'skip-cascade' then 'cascade' end
      end)::pgflow._step_ref as ref
  )
  select coalesce(array_agg(c.ref) filter (where c.status in ('completed', 'skipped')), '{}'),
         coalesce(array_agg(c.ref) filter (where c.status = 'failed'), '{}'),
         coalesce(array_agg(c.ref) filter (where c.status = 'started' and c.remaining_tasks = 0), '{}')
  into finished, failed, full_maps
  from counted c;
end
$$;
