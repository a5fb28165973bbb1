-- What keeps an alias from switching to a flow: queues of its steps without a live
-- working worker, and live working workers there that lack one of the flow's pairs
-- (a held pair is a missing one; a worker that serves no pairs covers nothing,
-- but takes messages; one whose function is disabled for it claims nothing).
-- No rows: the check passes. activate_flow and offer_activation both make it.
-- Locks: none; workers come and go.
create function pgflow._switch_gaps(flow_slug text)
returns table (queue_name text, reason text)
language sql
stable
set search_path = ''
as $$
  with target as (
    select distinct s.queue_name from pgflow.steps s where s.flow_slug = _switch_gaps.flow_slug
  ),
  working as (
    select t.queue_name, w.worker_id, w.function_name
    from target t
    join pgflow.workers w on lower(w.queue_name) = t.queue_name and w.stopped_at is null
    where pgflow._is_live(w) and not w.standby and not pgflow._must_stop(w.worker_id, w.function_name)
  ),
  lacking as (
    select w.queue_name, w.worker_id, w.function_name,
           string_agg(format('"%s"', s.step_slug), ', ' order by s.step_index) as steps,
           count(*) > 1 as is_several,
           not exists (select from pgflow.served_pairs(w.worker_id)) as has_no_pairs
    from working w
    join pgflow.steps s on s.flow_slug = _switch_gaps.flow_slug and s.queue_name = w.queue_name
    where not exists (
      select from pgflow.served_pairs(w.worker_id) p
      where p.flow_slug = s.flow_slug and p.step_slug = s.step_slug and not p.held)
    group by w.queue_name, w.worker_id, w.function_name
  )
  select t.queue_name, format('queue "%s" has no live worker', t.queue_name)
  from target t
  where t.queue_name not in (select w.queue_name from working w)
  union all
  select l.queue_name,
         format(case when l.has_no_pairs
                  then 'queue "%s": worker %s of function "%s" registered no pairs, so nothing shows that '
                       'it runs %s %s'
                  else 'queue "%s": worker %s of function "%s" does not run %s %s' end,
                l.queue_name, l.worker_id, l.function_name, case when l.is_several then 'steps' else 'step' end, l.steps)
  from lacking l
  order by 1, 2
$$;
