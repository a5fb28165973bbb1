-- Raises 22023 unless step_slug goes with the queue that start_tasks was given: a private queue of a step wants the step
-- that is routed there, any other queue wants none.
-- Locks: none.
create function pgflow._check_start_tasks(flow_slug text, queue_name text, step_slug text, queue_kind text)
returns void
language plpgsql
stable
set search_path = ''
as $$
begin
  if queue_kind = 'step' and step_slug is null then
    raise exception 'start_tasks: queue "%" is private to one step of flow "%", and no step is named', queue_name, flow_slug
      using errcode = 'invalid_parameter_value', hint = 'Give step_slug.';
  elsif queue_kind <> 'step' and step_slug is not null then
    raise exception 'start_tasks: queue "%" is not private to a step, and step "%" is named', queue_name, step_slug
      using errcode = 'invalid_parameter_value', hint = 'Leave step_slug out: the queue has tasks of all steps.';
  elsif step_slug is not null and not exists (
    select from pgflow.steps s
    where s.flow_slug = $1 and s.step_slug = $3 and s.queue_name = lower($2)) then
    raise exception 'start_tasks: step "%" of flow "%" is not routed to queue "%"', step_slug, flow_slug, queue_name
      using errcode = 'invalid_parameter_value', hint = 'The table pgflow.steps has the queue of each step.';
  end if;
end
$$;
