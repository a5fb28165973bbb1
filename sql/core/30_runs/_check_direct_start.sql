-- Refuses a start of a version that its alias has left for a newer one, while a live
-- working worker of a queue of its has not registered one of its steps: the first
-- message that it read would pause its function. Pair and worker are named. With no
-- worker at all on a queue the start is accepted, and its tasks wait there. A held pair
-- is registered. Workers come and go: what changes after this is the guard's.
-- Locks: none. Errors: 55000.
create function pgflow._check_direct_start(flow_slug text, active_flow_slug text)
returns void
language plpgsql
set search_path = ''
as $$
declare
  lacking text;
begin
  if not exists (
    select
    from pgflow.flows f
    join pgflow.flows a on a.flow_slug = active_flow_slug
    where f.flow_slug = _check_direct_start.flow_slug and f.created_at < a.created_at
  ) then
    return;
  end if;

  select format('worker %s of function "%s" on queue "%s" does not run its step "%s"',
                w.worker_id, w.function_name, s.queue_name, s.step_slug)
  into lacking
  from pgflow.steps s
  join pgflow.workers w on lower(w.queue_name) = s.queue_name and w.stopped_at is null
  where s.flow_slug = _check_direct_start.flow_slug
    and pgflow._is_live(w) and not w.standby and not pgflow._must_stop(w.worker_id, w.function_name)
    and not exists (
      select from pgflow.served_pairs(w.worker_id) p
      where p.flow_slug = s.flow_slug and p.step_slug = s.step_slug)
  order by s.step_index, w.started_at, w.worker_id
  limit 1;
  if lacking is not null then
    raise exception 'flow "%" is older than "%", the active version of its alias, and %', flow_slug, active_flow_slug, lacking
      using errcode = 'object_not_in_prerequisite_state',
            hint = format('The first message that this worker read of it would pause its function. Start the alias, or give '
                          'every worker of that queue the module of "%s" too.', flow_slug);
  end if;
end
$$;
