-- Locks a flow's alias, then its slug (_lock_name), for the transaction, and
-- returns its row, or null when there is no such flow. new_alias is locked too:
-- that of a deployment about to be made or compared.
-- Errors: 40001 when the flow moved to another alias while this waited; locking
--         that one as well would be against the lock order. 55000 in a transaction
--         that is not read committed: it would judge by what it saw before it waited.
create function pgflow._lock_flow(flow_slug text, new_alias text default null)
returns pgflow.flows
language plpgsql
set search_path = ''
as $$
declare
  seen_alias text;
  flow pgflow.flows;
begin
  if current_setting('transaction_isolation') <> 'read committed' then
    raise exception 'flow "%" cannot be locked in a transaction that is %', flow_slug,
        current_setting('transaction_isolation')
      using errcode = 'object_not_in_prerequisite_state',
            hint = 'Use read committed: what others commit while this waits for a lock must be seen.';
  end if;

  select f.alias into seen_alias from pgflow.flows f where f.flow_slug = _lock_flow.flow_slug;

  perform pgflow._lock_name(n.name)
  from (
    select distinct lower(a.name) as name
    from unnest(array[seen_alias, new_alias]) as a (name)
    where a.name is not null
    order by 1
  ) as n;
  perform pgflow._lock_name(flow_slug);

  select f.* into flow from pgflow.flows f where f.flow_slug = _lock_flow.flow_slug;
  if lower(flow.alias) not in (
       lower(flow_slug), lower(coalesce(seen_alias, flow_slug)), lower(coalesce(new_alias, flow_slug))) then
    raise exception 'flow "%" was replaced while it was being locked', flow_slug
      using errcode = 'serialization_failure', hint = 'Repeat the call.';
  end if;
  return flow;
end
$$;
