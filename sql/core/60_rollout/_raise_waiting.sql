-- Raises what a step of a rollout waits for. Errors: 55000.
create function pgflow._raise_waiting(deployment text, step_name text, lines text[])
returns void
language plpgsql
set search_path = ''
as $$
begin
  perform pgflow._raise_problems(
    format('rollout "%s" waits at step "%s"', deployment, step_name), lines, 'object_not_in_prerequisite_state',
    'When that is so, run this again: what is done is skipped.');
end
$$;
