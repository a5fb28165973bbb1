-- The account of a demo, counted from what the database holds: lost = runs
-- that did not complete, tasks that did not, messages still on a queue; repeated
-- = attempts, releases after a start and recoveries beyond the one start of each task.
with runs as (
  select count(*) filter (where status = 'completed') as completed, count(*) filter (where status <> 'completed') as lost
  from pgflow.runs
), tasks as (
  select count(*) as total,
    count(*) filter (where status <> 'completed') as lost,
    coalesce(sum(greatest(attempts_count - 1, 0) + released_count + requeued_count), 0) as repeated
  from pgflow.step_tasks
), messages as (
  select coalesce(sum(metrics.queue_length), 0) as lost
  from pgflow.queues, pgmq.metrics(queues.queue_name) as metrics
)
select runs.completed, tasks.total, runs.lost + tasks.lost + messages.lost as lost, tasks.repeated
from runs, tasks, messages
