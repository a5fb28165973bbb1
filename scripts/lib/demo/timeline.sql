-- One line per host and version: how many of its tasks ended in each sixtieth of
-- the demo, as a block whose height is the share of the busiest; below them the
-- fence (F), its end (E) and the switch of the alias (S).
-- :names maps the pid of a host to its name; :marks lists the fences and their ends.
with task as (
  select names.value as host, w.queue_name, t.flow_slug, t.completed_at
  from pgflow.step_tasks t
  join pgflow.workers w on w.worker_id = t.last_worker_id
  join jsonb_each_text(:'names'::jsonb) as names on names.key = w.info ->> 'pid'
  where t.status = 'completed'
), span as (
  select min(started_at) as begins, extract(epoch from max(completed_at) - min(started_at)) * 1.001 as seconds
  from pgflow.step_tasks
), mark (sign, at) as (
  select m.sign, m.at from jsonb_to_recordset(:'marks'::jsonb) as m (sign text, at timestamptz)
  union all
  select 'S', max(at) from pgflow.alias_switches where from_flow_slug is not null
), mark_slot as (
  select sign, floor(60 * extract(epoch from at - begins) / seconds)::int as slot from mark, span
), counted as (
  select host, queue_name, flow_slug, floor(60 * extract(epoch from completed_at - begins) / seconds)::int as slot, count(*) as tasks
  from task, span
  group by 1, 2, 3, 4
), line as (
  select host, queue_name, flow_slug, sum(tasks) as tasks, max(tasks) as busiest
  from counted
  group by 1, 2, 3
), block as (
  select l.host, l.queue_name, l.flow_slug, l.tasks,
    string_agg(
      case when c.tasks is null then '·' else substr('▁▂▃▄▅▆▇█', ceil(8.0 * c.tasks / l.busiest)::int, 1) end,
      '' order by s.slot) as chart
  from line l
  cross join generate_series(0, 59) as s (slot)
  left join counted c on (c.host, c.queue_name, c.flow_slug, c.slot) = (l.host, l.queue_name, l.flow_slug, s.slot)
  group by 1, 2, 3, 4
), output (rank, host, line) as (
  select 1, host || flow_slug, format('  %s %s %s %s', rpad(host, 9), rpad(flow_slug, 17), chart, lpad(tasks::text, 5))
  from block
  union all
  select 2, '', '  ' || repeat(' ', 28) || (
    select string_agg(coalesce((select string_agg(sign, '') from mark_slot m where m.slot = s.slot), ' '), '' order by s.slot)
    from generate_series(0, 59) as s (slot))
  union all
  select 3, '', '  F fence   E enabled again   S alias switched'
)
select line from output order by rank, host
