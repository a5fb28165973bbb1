-- Replaces the pairs of a worker whose row the caller has locked or just made.
-- Locks: the worker's own pairs.
create function pgflow._set_pairs(
  worker_id uuid, supported pgflow.task_pair[], held pgflow.task_pair[])
returns void
language sql
set search_path = ''
as $$
  delete from pgflow.worker_task_pairs p where p.worker_id = $1;

  insert into pgflow.worker_task_pairs (worker_id, flow_slug, step_slug, held)
  select distinct $1, s.flow_slug, s.step_slug, exists (
    select from unnest($3) h where h.flow_slug = s.flow_slug and h.step_slug = s.step_slug)
  from unnest($2) s
$$;
