-- The payload of an event about a run: run:started, run:completed or run:failed by the given status.
-- Without a reason a failed run is told with the error of the step that failed first.
create function pgflow._run_event(run pgflow.runs, status text, reason text)
returns jsonb
language plpgsql
stable
set search_path = ''
as $$
begin
  return jsonb_build_object('run_id', run.run_id, 'flow_slug', run.flow_slug) || case status
    when 'started' then jsonb_build_object(
      'event_type', 'run:started', 'status', 'started', 'input', run.input,
      'remaining_steps', run.remaining_steps, 'started_at', run.started_at)
    when 'completed' then jsonb_build_object(
      'event_type', 'run:completed', 'status', 'completed', 'output', run.output, 'completed_at', run.completed_at)
    else jsonb_build_object(
      'event_type', 'run:failed', 'status', 'failed', 'failed_at', run.failed_at,
      'error_message', coalesce(reason, (
        select st.error_message
        from pgflow.step_states st
        where st.run_id = run.run_id and st.status = 'failed'
        order by st.failed_at, st.step_slug
        limit 1)))
  end;
end
$$;
