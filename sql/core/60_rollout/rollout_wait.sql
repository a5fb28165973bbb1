-- Step 4 of a rollout: raises while a worker of a replaced function works, or a started
-- task is in the hands of one.
-- Locks: none. Errors: 42704 unknown deployment; 55000 with who that is.
create function pgflow.rollout_wait(deployment text)
returns text
language plpgsql
set search_path = ''
as $$
begin
  perform pgflow._require_step(deployment, 'wait');
  return 'no worker of a replaced function works';
end
$$;
