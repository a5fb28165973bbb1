-- Why nobody takes the ready tasks of a step, as text for people. Where a live worker supports the pair: that they
-- wait for a free slot.
-- Locks: none.
create function pgflow._unserved_reason(flow_slug text, step_slug text, queue_name text)
returns text
language sql
stable
set search_path = ''
as $$
  with live as (
    select w.worker_id, w.standby,
           exists (
             select from pgflow.served_pairs(w.worker_id) p
             where p.flow_slug = _unserved_reason.flow_slug and p.step_slug = _unserved_reason.step_slug) as supports
    from pgflow.workers w
    where lower(w.queue_name) = _unserved_reason.queue_name and pgflow._is_live(w)
  ),
  closed as (
    select string_agg(distinct format('function %s is %s', f.function_name,
             case when f.paused_at is not null then 'paused for want of a module' else 'disabled' end), ', ') as why
    from pgflow.workers w
    join pgflow.worker_functions f on f.function_name = w.function_name
    where lower(w.queue_name) = _unserved_reason.queue_name and not f.enabled
  )
  select case
    when exists (select from live l where l.supports) then 'they wait for a free slot'
    when c.why is not null then format('no worker takes them: %s', c.why)
    when exists (select from live l where l.standby) then format('the workers of queue %s stand by', queue_name)
    when exists (select from live l) then format('no live worker of queue %s supports this step', queue_name)
    else format('queue %s has no live worker', queue_name)
  end
  from closed c
$$;
