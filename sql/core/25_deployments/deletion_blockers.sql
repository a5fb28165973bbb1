-- Why a careful operator would not delete a flow yet, as readable lines; none: nothing
-- needs it. What keeps it from being retired, and workers that would lose it: live ones
-- that run its steps, carry its module (they would compile it anew at their next start)
-- or poll a queue that goes with it.
-- Locks: none. Errors: 42704 unknown flow.
create function pgflow.deletion_blockers(flow_slug text)
returns text[]
language plpgsql
stable
set search_path = ''
-- planner: keys
as $$
begin
  if not exists (select from pgflow.flows f where f.flow_slug = deletion_blockers.flow_slug) then
    perform pgflow._raise_unknown_flow(flow_slug);
  end if;
  return pgflow._drain_blockers(flow_slug) || array(
    select format('worker %s of function "%s" on queue "%s" %s', w.worker_id, w.function_name, w.queue_name,
                  case when u.carries then 'carries it' else 'polls a queue of it' end)
    from pgflow.workers w
    cross join lateral (
      select exists (select from pgflow.served_pairs(w.worker_id) p where p.flow_slug = deletion_blockers.flow_slug)
               or w.info @> jsonb_build_object('modules', jsonb_build_array(
                    jsonb_build_object('flow', deletion_blockers.flow_slug))) as carries) as u
    where pgflow._is_live(w)
      and (u.carries or exists (select from pgflow.queues q
                                where q.owner_flow_slug = deletion_blockers.flow_slug
                                  and q.queue_name = lower(w.queue_name)))
    order by w.function_name, w.queue_name, w.worker_id);
end
$$;
