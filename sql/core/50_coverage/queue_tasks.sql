-- The live tasks of a queue by pair: ready (their message is visible now), delayed (hidden until a start delay or a
-- retry's pause is over, or a moment long by a host that cannot run them), started; and since when the oldest ready
-- one has been visible. A queued task whose message is gone counts as ready since it was queued: nobody can claim it,
-- and an alert on the age shows it. A pair without live task has no row.
-- Locks: none. Reads every live task of the queue and its message.
create function pgflow.queue_tasks(queue text)
returns table (flow_slug text, step_slug text, ready bigint, delayed bigint, ready_since timestamptz, started bigint)
language plpgsql
stable
set search_path = ''
-- planner: keys
as $$
declare
  messages regclass := to_regclass(format('pgmq.%I', pgmq.format_table_name(queue, 'q')));
begin
  return query execute format($sql$
    with queued as (
      select t.flow_slug, t.step_slug, t.queued_at, m.vt, coalesce(m.vt > clock_timestamp(), false) as is_delayed
      from pgflow.step_tasks t
      left join lateral (%s) as m on true
      where t.status = 'queued' and t.queue_name = $1
    ),
    waiting as (
      select q.flow_slug, q.step_slug, count(*) filter (where not q.is_delayed) as ready,
             count(*) filter (where q.is_delayed) as delayed,
             min(greatest(q.vt, q.queued_at)) filter (where not q.is_delayed) as ready_since
      from queued q
      group by q.flow_slug, q.step_slug
    ),
    in_hand as (
      select t.flow_slug, t.step_slug, count(*) as started
      from pgflow.step_tasks t
      where t.status = 'started' and t.queue_name = $1
      group by t.flow_slug, t.step_slug
    )
    select flow_slug, step_slug, coalesce(w.ready, 0), coalesce(w.delayed, 0), w.ready_since, coalesce(h.started, 0)
    from waiting w
    full join in_hand h using (flow_slug, step_slug)
  $sql$, case when messages is null then 'select null::timestamptz as vt'
              else format('select q.vt from %s q where q.msg_id = t.message_id offset 0', messages) end)
  using lower(queue);
end
$$;
