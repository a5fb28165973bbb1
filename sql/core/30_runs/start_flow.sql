-- Starts a run of a flow, named by alias or concrete slug, and returns it: run, step states, conditions and maps of
-- the ready steps, tasks and messages, all in this transaction. A run with nothing to do comes back completed.
-- run_id: the caller's own id, for starts that must not happen twice; it is an error when that run exists.
-- Locks: the flow's row for key share. Errors: unknown or retired flow, null input, a root map without an array,
-- unique_violation for a repeated run_id.
create function pgflow.start_flow(flow_slug text, input jsonb, run_id uuid default null)
returns setof pgflow.runs
language plpgsql
security definer
set search_path = ''
-- planner: keys
as $$
declare
  new_id uuid := coalesce(run_id, pgflow._new_run_id());
begin
  if run_id is not null and exists (select from pgflow.runs r where r.run_id = start_flow.run_id) then
    raise exception 'run % exists already', run_id
      using errcode = 'unique_violation', hint = 'Give another run_id, or none to have one made.';
  end if;

  perform pgflow._start_runs(flow_slug, array[new_id], array[input]);
  return query select r.* from pgflow.runs r where r.run_id = new_id;
end
$$;
