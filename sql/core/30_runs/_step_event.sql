-- The payload of an event about a step, by its status.
create function pgflow._step_event(step pgflow.step_states)
returns jsonb
language plpgsql
immutable
set search_path = ''
as $$
begin
  return jsonb_build_object(
    'event_type', 'step:' || step.status, 'run_id', step.run_id, 'flow_slug', step.flow_slug,
    'step_slug', step.step_slug, 'status', step.status
  ) || case step.status
    when 'started' then jsonb_build_object(
      'started_at', step.started_at, 'remaining_tasks', step.remaining_tasks, 'remaining_deps', step.remaining_deps)
    when 'completed' then jsonb_build_object('output', step.output, 'completed_at', step.completed_at)
      -- A map without elements opens and completes at once: this event is the only one of it.
      || case when step.initial_tasks = 0 then jsonb_build_object(
           'started_at', step.started_at, 'remaining_tasks', 0, 'remaining_deps', 0) else '{}' end
    when 'failed' then jsonb_build_object('error_message', step.error_message, 'failed_at', step.failed_at)
    else jsonb_build_object(
      'skip_reason', step.skip_reason, 'error_message', step.error_message, 'skipped_at', step.skipped_at)
  end;
end
$$;
