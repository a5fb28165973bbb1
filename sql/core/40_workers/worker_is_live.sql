-- Whether a worker is live (_is_live), for operators, who may not call what is
-- internal. No row: false. Locks: none.
create function pgflow.worker_is_live(worker_id uuid)
returns boolean
language sql
stable
set search_path = ''
as $$
  select coalesce((select pgflow._is_live(w) from pgflow.workers w where w.worker_id = $1), false)
$$;
