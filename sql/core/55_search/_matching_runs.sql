-- The runs that a filter asks for, the latest first, from behind a place on.
--
-- after_at, after_run   the place: at and run_id of the last row that was seen; null: from the start
-- Rows: run_id, flow_slug, status; at: failed_at where failed or cancelled runs alone are asked for, else started_at;
-- step_slug, error, worker_id: of the step that failed first (among those that the filter asks for), and who had the
-- last attempt of its task; null where none failed, and without with_cause where the filter does not ask for them.
--
-- Both branches walk an index in the order of the answer and stop when they have enough.
-- Locks: none.
create function pgflow._matching_runs(
  f pgflow._run_filter, after_at timestamptz, after_run uuid, max_runs int, with_cause boolean)
returns table (run_id uuid, flow_slug text, status text, at timestamptz, step_slug text, error text, worker_id uuid)
language plpgsql
stable
set search_path = ''
as $$
begin
  return query
  select r.run_id, r.flow_slug, r.status, r.at, k.step_slug, k.error_message, k.last_worker_id
  from (
    (select x.run_id, x.flow_slug, x.status, x.failed_at as at
     from pgflow.runs x
     where f.by_end and x.failed_at is not null
       and (x.failed_at, x.run_id) < (coalesce(after_at, 'infinity'), coalesce(after_run, 'ffffffff-ffff-ffff-ffff-ffffffffffff'))
       and x.failed_at >= coalesce(f.since, '-infinity') and x.failed_at <= coalesce(f.until, 'infinity')
     order by x.failed_at desc, x.run_id desc)
    union all
    (select x.run_id, x.flow_slug, x.status, x.started_at
     from pgflow.runs x
     where not f.by_end
       and (x.started_at, x.run_id) < (coalesce(after_at, 'infinity'), coalesce(after_run, 'ffffffff-ffff-ffff-ffff-ffffffffffff'))
       and x.started_at >= coalesce(f.since, '-infinity') and x.started_at <= coalesce(f.until, 'infinity')
     order by x.started_at desc, x.run_id desc)
  ) r
  left join lateral (
    select s.step_slug, s.error_message, t.last_worker_id
    from (
      select x.step_slug, x.error_message
      from pgflow.step_states x
      where x.run_id = r.run_id and x.status || '' = 'failed'
        and (f.step_slug is null or x.step_slug = f.step_slug)
        and (f.error is null or x.error_message ~ f.error)
      order by x.failed_at, x.step_slug
      limit 1) s
    left join lateral (
      select x.last_worker_id
      from pgflow.step_tasks x
      where x.run_id = r.run_id and x.step_slug = s.step_slug and x.last_worker_id is not null
      order by x.status || '' = 'failed' desc, x.failed_at, x.task_index
      limit 1) t on true) k on with_cause or f.step_slug is not null or f.error is not null or f.worker_ids is not null
  where r.status = any (f.statuses)
    and (f.flow_slugs is null or r.flow_slug = any (f.flow_slugs))
    and (f.step_slug is null and f.error is null or k.step_slug is not null)
    and (not f.is_unrestarted or not exists (
      select from pgflow.run_restarts x where x.restart_of_run_id = r.run_id offset 0))
    and (f.worker_ids is null or case
      when k.step_slug is not null then k.last_worker_id = any (f.worker_ids)
      else exists (
        select from pgflow.step_tasks x
        where x.run_id = r.run_id and x.last_worker_id = any (f.worker_ids)
        offset 0) end)
  order by r.at desc, r.run_id desc
  limit max_runs;
end
$$;
