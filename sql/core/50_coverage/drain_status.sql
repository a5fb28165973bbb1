-- How far a version is drained; one row:
--
-- started_runs       runs that may still make work, task or not
-- live_tasks         [{queue, status: queued | started, tasks}]
-- reachable_queues   where a started run may still send a task, or has one
-- live_workers       [{workerId, functionName, queue, standby}]: those that carry it
-- safe_to_retire     no started run, no live task, no alias but its own on it;
--                    recomputed here and once more inside retire_flow
-- blockers           why not, as readable lines
-- Locks: none. Errors: 42704 unknown flow: unknown is never "nothing left".
create function pgflow.drain_status(flow_slug text)
returns table (
  alias text,
  is_active boolean,
  retired_at timestamptz,
  started_runs bigint,
  live_tasks jsonb,
  reachable_queues text[],
  live_workers jsonb,
  safe_to_retire boolean,
  blockers text[]
)
language plpgsql
stable
set search_path = ''
-- planner: keys
as $$
#variable_conflict use_column
declare
  flow pgflow.flows;
begin
  select f.* into flow from pgflow.flows f where f.flow_slug = drain_status.flow_slug;
  if not found then
    perform pgflow._raise_unknown_flow(drain_status.flow_slug);
  end if;

  return query
  select
    flow.alias,
    exists (select from pgflow.flow_aliases a where a.active_flow_slug = flow.flow_slug),
    flow.retired_at,
    (select count(*) from pgflow.runs r where r.flow_slug = flow.flow_slug and r.status = 'started'),
    (select coalesce(jsonb_agg(jsonb_build_object('queue', t.queue_name, 'status', t.status, 'tasks', t.tasks)
                               order by t.queue_name, t.status), '[]')
     from pgflow._live_tasks(flow.flow_slug) as t),
    pgflow._reachable_queues(flow.flow_slug),
    (select coalesce(jsonb_agg(jsonb_build_object(
              'workerId', w.worker_id, 'functionName', w.function_name, 'queue', w.queue_name, 'standby', w.standby)
              order by w.function_name, w.worker_id), '[]')
     from pgflow.workers w
     where pgflow._is_live(w)
       and exists (select from pgflow.served_pairs(w.worker_id) p where p.flow_slug = flow.flow_slug)),
    b.blockers = '{}',
    b.blockers
  from (select pgflow._drain_blockers(flow.flow_slug) as blockers) as b;
end
$$;
