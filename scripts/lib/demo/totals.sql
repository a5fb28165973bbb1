-- The last line of the demo, counted from what the database holds: lost = runs
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
select format('demo: %s runs completed, %s tasks, %s lost, %s repeated',
  runs.completed, tasks.total, runs.lost + tasks.lost + messages.lost, tasks.repeated) as line,
  runs.completed = :runs and runs.lost + tasks.lost + messages.lost + tasks.repeated = 0 as whole
from runs, tasks, messages
