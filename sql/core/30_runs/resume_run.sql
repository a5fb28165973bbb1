-- Carries one failed or cancelled run on and returns the id of the new run: resume_runs for a single run.
-- Locks: as resume_runs. Errors: 55000 with the reason where resume_runs would refuse; 22004 for a null run_id; with
-- onto 42704 and 55000.
create function pgflow.resume_run(
  run_id uuid, onto text default null, rerun_skipped boolean default false, again boolean default false)
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
  from pgflow._restart_runs(array[run_id], onto, null, true, coalesce(rerun_skipped, false), again) r;
  if answer.refused is not null then
    raise exception 'run % cannot be resumed: %', run_id, answer.refused
      using errcode = 'object_not_in_prerequisite_state';
  end if;
  return answer.new_run_id;
end
$$;
