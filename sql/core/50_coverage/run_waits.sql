-- What the live tasks of a run wait for, by step: one row a step and reason, so that "started 0/1" is explained.
--
--   state   'started' (a worker has them), 'delayed' (hidden until a start delay or a retry's pause is over), 'queued'
--   tasks   how many; since: the first of them; until: when the last delay ends, null for the others
--   reason  text for people: who holds them; or why nobody takes them: the function of the queue is paused or disabled,
--           no live worker of the queue supports the step; or that they wait for a free slot
--
-- An ended run has no row. Locks: none. Reads the live tasks of the run.
create function pgflow.run_waits(run_id uuid)
returns table (step_slug text, state text, tasks bigint, since timestamptz, until timestamptz, reason text)
language plpgsql
stable
set search_path = ''
-- planner: keys
as $$
declare
  at_queue record;
  vts text := 'select null::bigint as msg_id, null::timestamptz as vt where false';
begin
  -- One statement reads the messages of all queues of the run, each by its key.
  for at_queue in
    select distinct t.queue_name, to_regclass(format('pgmq.%I', pgmq.format_table_name(t.queue_name, 'q'))) as messages
    from pgflow.step_tasks t
    where t.run_id = run_waits.run_id and t.status || '' = 'queued'
  loop
    if at_queue.messages is not null then
      vts := vts || format(' union all select q.msg_id, q.vt from %s q where t.queue_name = %L and q.msg_id = t.message_id',
                           at_queue.messages, at_queue.queue_name);
    end if;
  end loop;
  return query execute format($sql$
    with task as (
      select t.flow_slug, t.step_slug, t.queue_name, t.queued_at, t.started_at, t.last_worker_id, t.status,
             m.vt, m.msg_id is null as is_lost
      from pgflow.step_tasks t
      left join lateral (%s offset 0) m on true
      where t.run_id = $1 and t.status || '' in ('queued', 'started')
    ),
    waiting as (
      select t.step_slug, 'queued' as state, count(*) as tasks, min(greatest(t.queued_at, t.vt)) as since,
             null::timestamptz as until, t.flow_slug, t.queue_name, bool_or(t.is_lost) as is_lost
      from task t
      where t.status = 'queued' and not coalesce(t.vt > clock_timestamp(), false)
      group by t.flow_slug, t.step_slug, t.queue_name
    )
    select w.step_slug, w.state, w.tasks, w.since, w.until,
           case when w.is_lost then 'a message is gone; the next round of maintenance sends it again'
                else pgflow._unserved_reason(w.flow_slug, w.step_slug, w.queue_name) end
    from waiting w
    union all
    select t.step_slug, 'delayed', count(*), min(t.queued_at), max(t.vt), 'until the delay is over'
    from task t
    where t.status = 'queued' and t.vt > clock_timestamp()
    group by t.step_slug
    union all
    select t.step_slug, 'started', count(*), min(t.started_at), null, h.holder
    from task t
    left join pgflow.workers w on w.worker_id = t.last_worker_id
    cross join lateral (
      select case
        when w.worker_id is null then 'held by a worker that is gone; recovery takes them back'
        else format('held by process %%s on %%s (worker %%s)', coalesce(w.info ->> 'pid', '?'),
                    coalesce(w.info ->> 'host', '?'), w.worker_id)
             || case when not pgflow._is_live(w)
                     then format(', without a heartbeat since %%s', date_trunc('second', w.last_heartbeat_at)) else '' end
        end as holder) as h
    where t.status = 'started'
    group by t.step_slug, h.holder
    order by 1, 2
  $sql$, vts)
  using run_waits.run_id;
end
$$;
