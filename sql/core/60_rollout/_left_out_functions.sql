-- Functions that consume an affected queue and that the manifest does not name, as
-- readable lines. A function consumes the queue of its worker rows while it is
-- enabled (its supervisor may start it again), or while one of them is live and
-- working.
create function pgflow._left_out_functions(manifest jsonb)
returns setof text
language sql
stable
set search_path = ''
as $$
  select distinct format('function "%s" consumes queue "%s" and is not in the manifest', w.function_name, q.queue_name)
  from pgflow._affected_queues(manifest) as q
  join pgflow.workers w on lower(w.queue_name) = q.queue_name
  left join pgflow.worker_functions f on f.function_name = w.function_name
  where (coalesce(f.enabled, true) or (pgflow._is_live(w) and not w.standby))
    and w.function_name not in (select e.function_name from pgflow._manifest_entries(manifest) as e)
  order by 1
$$;
