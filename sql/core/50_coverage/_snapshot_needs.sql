-- What the queues of a snapshot must be served for: [{queue, flow, step, reasons, runs,
-- runs_at_least, tasks, tasks_at_least, oldest}], by queue and pair (_waiting_of_pairs).
create function pgflow._snapshot_needs()
returns jsonb
language sql
stable
set search_path = ''
as $$
  select coalesce(jsonb_agg(jsonb_build_object(
      'queue', p.queue_name, 'flow', p.flow_slug, 'step', p.step_slug, 'reasons', p.reasons,
      'runs', p.runs, 'runs_at_least', p.runs_at_least,
      'tasks', p.tasks, 'tasks_at_least', p.tasks_at_least,
      'oldest', p.oldest)
    order by p.queue_name, p.flow_slug, p.step_slug), '[]')
  from pgflow._waiting_of_pairs(array(select q.queue_name from pgflow.queues q)) as p
$$;
