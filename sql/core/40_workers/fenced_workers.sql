-- Worker rows that the applied manifests keep from their queue: hosts of another build, or
-- of a function that no manifest names. Those whose function is disabled are told that
-- first, and become these when it is enabled.
--
-- reason, detail, stands_by_for   as worker_fence tells the host
-- Only rows that are not stopped, not deprecated and not silent for 15 s.
-- Locks: none.
create function pgflow.fenced_workers()
returns table (
  worker_id uuid, function_name text, queue_name text, host text, pid text, standby boolean,
  reason text, detail text, stands_by_for text)
language sql
stable
security definer
set search_path = ''
as $$
  select w.worker_id, w.function_name, w.queue_name, w.info ->> 'host', w.info ->> 'pid', w.standby,
         f.reason, pgflow._fence_detail(f.reason, w, f.stands_by_for), f.stands_by_for
  from pgflow.workers w
  cross join lateral (
    select pgflow._pin_fence(w) as reason, pgflow._awaiting_deployment(w.function_name, w.info -> 'modules') as stands_by_for
    offset 0
  ) as f
  where w.stopped_at is null and pgflow._is_live(w) and f.reason is not null
  order by w.function_name, w.started_at, w.worker_id
$$;
