-- Whether a step of a rollout is done, or not asked of it: true. False: it is this step's
-- turn. Raises, with what they wait for, while an earlier step is not done, or nobody goes
-- on with the deployment; of a superseded one every step is done.
-- Locks: none. Errors: 42704 unknown deployment; 55000.
create function pgflow._await_step(deployment text, step_name text)
returns boolean
language plpgsql
set search_path = ''
as $$
declare
  wanted int;
  turn record;
begin
  select p.step into wanted from pgflow.rollout_progress(deployment) as p where p.name = step_name;
  select p.* into turn from pgflow.rollout_progress(deployment) as p where p.state <> 'done' order by p.step limit 1;
  if turn.state = 'superseded' or wanted is null and turn.step > 0 or turn.step is null or wanted < turn.step then
    return true;
  elsif turn.step = 0 then
    perform pgflow._raise_problems(
      format('deployment "%s" is %s', deployment, turn.state), turn.waits_for, 'object_not_in_prerequisite_state',
      'Load a manifest under another deployment name.');
  elsif turn.name <> step_name then
    perform pgflow._raise_waiting(deployment, turn.name, turn.waits_for);
  end if;
  return false;
end
$$;
