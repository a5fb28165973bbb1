-- Returns when a step of a rollout is done, and raises with what it waits for until then.
-- Locks: none. Errors: 42704 unknown deployment; 55000.
create function pgflow._require_step(deployment text, step_name text)
returns void
language plpgsql
set search_path = ''
as $$
begin
  if not pgflow._await_step(deployment, step_name) then
    perform pgflow._raise_waiting(deployment, step_name, (
      select p.waits_for from pgflow.rollout_progress(deployment) as p where p.name = step_name));
  end if;
end
$$;
