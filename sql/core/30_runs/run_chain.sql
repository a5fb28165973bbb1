-- The chain that a run belongs to, from its first run on: every run that was made by retries and resumes of it, and what
-- became of each. A run that was never restarted is a chain of one.
--
-- of_run   any run of the chain. Rows:
-- run_id, restart_of_run_id, restart_no   as in pgflow.run_restarts; null of the first run
-- how                                     retry, resume; null of the first run
-- flow_slug, status, started_at, ended_at null: the run was deleted by retention
-- Ordered by the time of the restart.
-- Locks: none.
create function pgflow.run_chain(of_run uuid)
returns table (run_id uuid, restart_of_run_id uuid, restart_no int, how text, by text,
               flow_slug text, status text, started_at timestamptz, ended_at timestamptz)
language plpgsql
stable
security definer
set search_path = ''
-- planner: keys
as $$
declare
  origin uuid := coalesce(
    (select x.origin_run_id from pgflow.run_restarts x where x.run_id = of_run), of_run);
begin
  return query
  select c.run_id, c.restart_of_run_id, c.restart_no, c.how, c.by, r.flow_slug, r.status, r.started_at,
         coalesce(r.completed_at, r.failed_at)
  from (
    select origin, null::uuid, null::int, null::text, null::text, null::timestamptz
    union all
    select x.run_id, x.restart_of_run_id, x.restart_no, case when x.resumed then 'resume' else 'retry' end, x.by, x.restarted_at
    from pgflow.run_restarts x
    where x.origin_run_id = origin
  ) as c (run_id, restart_of_run_id, restart_no, how, by, restarted_at)
  left join lateral (select x.* from pgflow.runs x where x.run_id = c.run_id offset 0) r on true
  where c.restart_of_run_id is not null or r.run_id is not null
     or exists (select from pgflow.run_restarts x where x.origin_run_id = origin)
  order by c.restarted_at nulls first, c.run_id;
end
$$;
