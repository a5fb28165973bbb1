-- The switch test for an offer: that of every switch, and the offering worker is
-- itself live and working. A host that was deprecated or stood by in the meantime
-- learns it at its heartbeat.
create function pgflow._offer_gaps(flow_slug text, worker_id uuid)
returns table (queue_name text, reason text)
language sql
stable
set search_path = ''
as $$
  select g.queue_name, g.reason from pgflow._switch_gaps(flow_slug) as g
  union all
  select coalesce((select w.queue_name from pgflow.workers w where w.worker_id = _offer_gaps.worker_id), '(none)'),
         format('worker %s, which offers, is not live and working', coalesce(_offer_gaps.worker_id::text, '(null)'))
  where not exists (
    select from pgflow.workers w
    where w.worker_id = _offer_gaps.worker_id and pgflow._is_live(w) and not w.standby)
$$;
