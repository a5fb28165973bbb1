-- rollout_progress in the form of 0.1, without notes.
-- Locks: none. Errors: 42704 unknown deployment.
create function pgflow.rollout_status(deployment text)
returns table (step int, name text, state text, waits_for text[])
language plpgsql
stable
set search_path = ''
as $$
#variable_conflict use_column
begin
  return query
  select p.step, p.name, p.state, case when p.step = 0 then p.waits_for || p.notes else p.waits_for end
  from pgflow.rollout_progress(deployment) as p;
end
$$;
