-- Whether a worker stands by because its queue needs steps that its modules do not have:
-- it is not ready, and goes on by itself once the coverage holds. A worker whose function
-- is disabled, or its code given away by a manifest, stands by for that. No row: false.
-- Locks: none.
create function pgflow.worker_waits_for_coverage(worker_id uuid)
returns boolean
language sql
stable
set search_path = ''
as $$
  select exists (
    select
    from pgflow.workers w
    join pgflow.worker_functions f on f.function_name = w.function_name and f.enabled
    join pgflow.coverage_gaps g
      on g.function_name = w.function_name and g.queue_name = lower(w.queue_name)
     and g.modules_digest = pgflow._modules_digest(w.info)
    where w.worker_id = $1 and w.standby and pgflow._is_live(w) and pgflow._pin_fence(w) is null)
$$;
