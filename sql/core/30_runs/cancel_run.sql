-- Cancels a run: its started steps fail with '[CANCELLED] reason', its live tasks are cancelled, their messages
-- archived. The host of a handler at work is told at once, or by its next heartbeat; what it reports later changes nothing.
-- Returns the run; one that has ended already is returned unchanged.
-- Locks: run, tasks by (step, index), messages. Errors: undefined_object.
create function pgflow.cancel_run(run_id uuid, reason text default null)
returns pgflow.runs
language plpgsql
security definer
set search_path = ''
-- planner: keys
as $$
declare
  run pgflow.runs;
  error text := concat_ws(' ', '[CANCELLED]', nullif(reason, ''));
  stopped pgflow._step_ref[];
  tasks record;
begin
  select r.* into run from pgflow.runs r where r.run_id = cancel_run.run_id for no key update;
  if not found then
    raise exception 'there is no run %', run_id
      using errcode = 'undefined_object', hint = 'It may have been pruned or deleted with its flow.';
  elsif run.status <> 'started' then
    return run;
  end if;

  update pgflow.runs r
  set status = 'cancelled',
      failed_at = greatest(clock_timestamp(), r.started_at)
  where r.run_id = cancel_run.run_id
  returning r.* into run;

  with step as (
    update pgflow.step_states st
    set status = 'failed',
        error_message = error,
        failed_at = greatest(clock_timestamp(), st.started_at)
    where st.run_id = cancel_run.run_id and st.status = 'started'
    returning st.flow_slug, st.step_slug
  )
  select array_agg(row(run.run_id, s.flow_slug, s.step_slug, error)::pgflow._step_ref) into stopped from step s;

  select c.queue_names, c.message_ids into tasks from pgflow._end_tasks(stopped, 'cancelled') c;
  perform pgflow._archive(tasks.queue_names, tasks.message_ids);
  if pgflow._wants_events() then
    -- The reference without a step is for the event of the run.
    perform pgflow._send_events(
      '{}', stopped || row(run.run_id, run.flow_slug, null, error)::pgflow._step_ref, error);
  end if;
  return run;
end
$$;
