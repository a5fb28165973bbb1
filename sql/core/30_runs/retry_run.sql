-- Starts one ended run over and returns the id of the new run: retry_runs for a single run, with a corrected input if need be.
--
-- input   of the new run; null: that of the old one
-- Locks: as retry_runs. Errors: 55000 with the reason where retry_runs would refuse; 22004 for a null run_id; with onto
-- 42704 and 55000.
create function pgflow.retry_run(run_id uuid, onto text default null, input jsonb default null, again boolean default false)
returns uuid
language plpgsql
security definer
set search_path = ''
-- planner: keys
as $$
declare
  answer record;
begin
  select r.new_run_id, r.refused into answer
  from pgflow._restart_runs(array[run_id], onto, input, false, false, again) r;
  if answer.refused is not null then
    raise exception 'run % cannot be retried: %', run_id, answer.refused
      using errcode = 'object_not_in_prerequisite_state';
  end if;
  return answer.new_run_id;
end
$$;
