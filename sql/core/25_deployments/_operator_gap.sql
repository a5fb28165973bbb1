-- Why an offer may not move an alias that has an active version: the session is not an
-- operator's. The queue is that of the worker that offers. No row: it may.
create function pgflow._operator_gap(flow pgflow.flows, worker_id uuid)
returns table (queue_name text, reason text)
language sql
stable
set search_path = ''
as $$
  select coalesce((select w.queue_name from pgflow.workers w where w.worker_id = _operator_gap.worker_id), '(none)'),
         format('an operator must activate it (pgflowctl activate %s %s): role "%s" is not a member of pgflow_operator',
                flow.alias, flow.flow_slug, session_user)
  where not pgflow._is_operator()
$$;
