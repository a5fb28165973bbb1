-- Makes a new run of each ended run, started over or resumed: the work of retry_runs and resume_runs, and of their
-- singular forms. One row a run, in the order of run_ids; a run that is given twice is restarted once.
--
-- onto            alias or concrete slug that the new runs belong to; null: the version of the old run
-- input           the input of the new runs; null: that of the old run
-- rerun_skipped   only for a resume: run what was skipped because its handler failed
-- again           although the run was restarted before
-- refused         why there is no new run
-- Locks, in lock order: the flows by slug for key share, the runs by id. Two callers with the same runs make one new
-- run of each: the second waits for the first and finds its restart; where its snapshot is older (repeatable read) the
-- key of run_restarts stops it. Errors: null_value_not_allowed; with onto those of _resolve_flow.
create function pgflow._restart_runs(
  run_ids uuid[], onto text, input jsonb, resumes boolean, rerun_skipped boolean, again boolean)
returns table (run_id uuid, new_run_id uuid, refused text)
language plpgsql
set search_path = ''
as $$
declare
  target text;
  source text;
  reason text;
  restarts pgflow._restart[];
  done pgflow._restart[] := '{}';
begin
  if run_ids is null or array_position(run_ids, null) is not null then
    raise exception 'run_ids is null or has a null in it'
      using errcode = 'null_value_not_allowed', hint = 'Give the ids of runs that have ended.';
  end if;

  restarts := array(
    select row(a.place, a.run_id, r.flow_slug, pgflow._new_run_id(), '{}', '{}', '{}', null)::pgflow._restart
    from (select u.run_id, min(u.place) as place
          from unnest(_restart_runs.run_ids) with ordinality as u (run_id, place) group by u.run_id) a
    left join lateral (select x.flow_slug from pgflow.runs x where x.run_id = a.run_id offset 0) r on true);

  if onto is not null then
    target := (pgflow._resolve_flow(onto)).flow_slug;
  else
    for source in select distinct r.flow_slug from unnest(restarts) r where r.flow_slug is not null order by 1 loop
      reason := pgflow._lock_for_restart(source);
      if reason is not null then
        restarts := array(
          select row(r.place, r.run_id, r.flow_slug, r.new_run_id, r.taken, r.cascades, r.partial,
                     case when r.flow_slug = source then reason else r.refused end)::pgflow._restart
          from unnest(restarts) r);
      end if;
    end loop;
  end if;

  restarts := pgflow._judge_restarts(restarts, target, input, resumes, again);
  for source in select distinct r.flow_slug from unnest(restarts) r where r.refused is null order by 1 loop
    done := done || pgflow._restart_flow_runs(
      array(select r from unnest(restarts) r where r.flow_slug = source and r.refused is null),
      source, coalesce(target, source), input, resumes, rerun_skipped);
  end loop;

  return query
  select r.run_id, case when r.refused is null then r.new_run_id end, r.refused
  from unnest(done || array(select x from unnest(restarts) x where x.refused is not null)) r
  order by r.place;
end
$$;
