-- Why an offer may not move an alias that has an active version: the session is not an operator's, that is, its login is
-- no member of pgflow_operator nor of the owner of the schema. Asked of session_user: inside the functions of the API
-- current_user is their owner, and `set role` changes nobody. The queue is that of the worker that offers. No row: it may.
create function pgflow._operator_gap(flow pgflow.flows, worker_id uuid)
returns table (queue_name text, reason text)
language sql
stable
set search_path = ''
as $$
  select coalesce((select w.queue_name from pgflow.workers w where w.worker_id = _operator_gap.worker_id), '(none)'),
         format('an operator must activate it (pgflowctl activate %s %s): role "%s" is not a member of pgflow_operator',
                flow.alias, flow.flow_slug, session_user)
  where not exists (
    select
    from pg_catalog.pg_roles r
    where (r.rolname = 'pgflow_operator'
           or r.oid = (select n.nspowner from pg_catalog.pg_namespace n where n.nspname = 'pgflow'))
      and pg_has_role(session_user, r.oid, 'member'))
$$;
