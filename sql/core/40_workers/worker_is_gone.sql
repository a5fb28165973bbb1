-- Whether a worker is gone (_is_gone), for operators, who may not call what is
-- internal. No row: true. Locks: none.
create function pgflow.worker_is_gone(worker_id uuid)
returns boolean
language sql
stable
set search_path = ''
as $$
  select coalesce((select pgflow._is_gone(w) from pgflow.workers w where w.worker_id = $1), true)
$$;
