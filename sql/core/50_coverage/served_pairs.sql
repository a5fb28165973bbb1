-- The pairs that a worker serves: those that it registered. A worker of pgflow registers none; it serves the steps that
-- the flow which owns its queue has there, because start_tasks gives it no others. Such a worker is told by its empty
-- info: hosts always say something of themselves.
--
-- Rows: flow_slug, step_slug; held: it cannot run the pair just now.
-- No rows for a worker that stands by, or is not known.
-- Locks: none.
create function pgflow.served_pairs(worker_id uuid)
returns table (flow_slug text, step_slug text, held boolean)
language sql
stable
set search_path = ''
as $$
  select p.flow_slug, p.step_slug, p.held
  from pgflow.worker_task_pairs p
  where p.worker_id = served_pairs.worker_id
  union all
  select s.flow_slug, s.step_slug, false
  from pgflow.workers w
  join pgflow.queues q on q.queue_name = lower(w.queue_name)
  join pgflow.steps s on s.queue_name = q.queue_name and s.flow_slug = q.owner_flow_slug
  where w.worker_id = served_pairs.worker_id and w.info = '{}' and not w.standby
    and not exists (select from pgflow.worker_task_pairs p where p.worker_id = w.worker_id)
$$;
