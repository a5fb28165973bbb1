-- The invariants of the database, as one query: a row for each violation, none
-- when all is well. (rule text, subject text)
--
-- Whole by itself: the first statement makes a helper in pg_temp, the second is
-- the audit. Send both in one go and take the last result. While others write,
-- run it in a repeatable read transaction, so that it sees one moment.
create or replace function pg_temp.audited_messages()
returns table (queue_name text, msg_id bigint, archived boolean, run_id text)
language plpgsql
stable
as $$
declare
  queue record;
begin
  for queue in
    select lower(m.queue_name) as name, t.prefix
    from pgmq.meta m cross join (values ('q'), ('a')) t(prefix)
  loop
    return query execute format(
      'select %L::text, m.msg_id, %L::boolean, m.message ->> ''run_id'' from pgmq.%I m',
      queue.name, queue.prefix = 'a', pgmq.format_table_name(queue.name, queue.prefix));
  end loop;
end
$$;

with message as materialized (
  select * from pg_temp.audited_messages()
), task as materialized (
  select t.*, t.run_id || '/' || t.step_slug || '/' || t.task_index as subject,
         t.status in ('queued', 'started') as is_live
  from pgflow.step_tasks t
), per_step as materialized (
  select t.run_id, t.step_slug, count(*) as tasks, count(*) filter (where t.is_live) as live_tasks,
         count(*) filter (where t.status = 'completed') as completed_tasks
  from task t
  group by t.run_id, t.step_slug
), state as materialized (
  select s.*, s.run_id || '/' || s.step_slug as subject, s.status in ('completed', 'skipped') as is_done,
         coalesce(p.tasks, 0) as tasks, coalesce(p.live_tasks, 0) as live_tasks,
         coalesce(p.completed_tasks, 0) as completed_tasks
  from pgflow.step_states s
  left join per_step p on p.run_id = s.run_id and p.step_slug = s.step_slug
)
select 'a live task has its message on its queue' as rule, t.subject
from task t
where t.is_live and not exists (
  select from message m where m.queue_name = t.queue_name and m.msg_id = t.message_id and not m.archived)
union all
select 'a task that ended has no live message', t.subject
from task t join message m on m.queue_name = t.queue_name and m.msg_id = t.message_id and not m.archived
where not t.is_live
union all
select 'the message of a task that ended is archived', t.subject
from task t
where not t.is_live and t.message_id is not null and not exists (
  select from message m where m.queue_name = t.queue_name and m.msg_id = t.message_id and m.archived)
union all
select 'a live message of a run has its task', m.queue_name || '/' || m.msg_id
from message m
where not m.archived
  and exists (select from pgflow.runs r where r.run_id::text = m.run_id)
  and not exists (select from task t where t.queue_name = m.queue_name and t.message_id = m.msg_id)
union all
select 'a run that ended has no live task', t.subject
from task t join pgflow.runs r using (run_id)
where t.is_live and r.status <> 'started'
union all
select 'a live task belongs to a started step', t.subject
from task t join state s using (run_id, step_slug)
where t.is_live and s.status <> 'started'
union all
select 'a completed or cancelled run has no started step', s.subject
from state s join pgflow.runs r using (run_id)
where s.status = 'started' and r.status in ('completed', 'cancelled')
union all
select 'a started run has a live task', r.run_id::text
from pgflow.runs r
where r.status = 'started' and not exists (select from task t where t.run_id = r.run_id and t.is_live)
union all
select 'remaining_steps counts the steps that are not done', r.run_id::text
from pgflow.runs r
where r.status in ('started', 'completed')
  and r.remaining_steps <> (select count(*) from state s where s.run_id = r.run_id and not s.is_done)
union all
select 'remaining_deps counts the dependencies that are not done', s.subject
from state s join pgflow.runs r using (run_id)
where s.status = 'created' and r.status = 'started'
  and s.remaining_deps <> (
    select count(*) from pgflow.deps d join state p on p.run_id = s.run_id and p.step_slug = d.dep_slug
    where d.flow_slug = s.flow_slug and d.step_slug = s.step_slug and not p.is_done)
union all
select 'a step that is ready in a started run has begun', s.subject
from state s join pgflow.runs r using (run_id)
where s.status = 'created' and r.status = 'started' and s.remaining_deps = 0
union all
select 'a started step has all its tasks', s.subject
from state s
where s.status = 'started' and s.tasks <> s.initial_tasks
union all
select 'remaining_tasks counts the tasks that are not completed', s.subject
from state s
where s.status = 'started' and s.remaining_tasks <> s.initial_tasks - s.completed_tasks
union all
select 'a completed step has completed all its tasks', s.subject
from state s
where s.status = 'completed' and s.completed_tasks <> s.tasks
union all
select 'a completed map has one output a task', s.subject
from state s join pgflow.steps d on d.flow_slug = s.flow_slug and d.step_slug = s.step_slug
where s.status = 'completed' and d.step_type = 'map'
  and jsonb_array_length(case jsonb_typeof(s.output) when 'array' then s.output end) is distinct from s.initial_tasks
union all
select 'a claim number counts every claim, release and recovery', t.subject
from task t
where t.claim_no < t.attempts_count + 2 * t.released_count + t.requeued_count
union all
select 'a started task knows its worker and its attempt', t.subject
from task t
where t.status = 'started' and (t.last_worker_id is null or t.attempts_count < 1 or t.claim_no < 1)
union all
select 'a deprecated worker claims nothing', t.subject || ' by ' || w.worker_id
from task t join pgflow.workers w on w.worker_id = t.last_worker_id
where t.claimed_exact and t.started_at > w.deprecated_at
union all
select 'a known queue exists', q.queue_name
from pgflow.queues q
where not exists (select from pgmq.meta m where lower(m.queue_name) = q.queue_name)
order by 1, 2;
