-- The pairs that a worker registered. Locks: none.
create function pgflow._registered_pairs(worker_id uuid)
returns pgflow.task_pair[]
language plpgsql
set search_path = ''
as $$
begin
  return array(
    select row(p.flow_slug, p.step_slug)::pgflow.task_pair
    from pgflow.worker_task_pairs p
    where p.worker_id = $1
  );
end
$$;
