-- start_flow for clients that want the run and its step states at once: {run, steps}, as get_run_with_states.
-- Locks, errors: as start_flow.
create function pgflow.start_flow_with_states(flow_slug text, input jsonb, run_id uuid default null)
returns jsonb
language plpgsql
security definer
set search_path = ''
as $$
declare
  started uuid := (select r.run_id from pgflow.start_flow(flow_slug, input, run_id) r);
begin
  return pgflow.get_run_with_states(started);
end
$$;
