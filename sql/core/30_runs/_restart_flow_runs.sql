-- Makes the new runs of restarts from one flow onto one flow, and carries them on like any start. Returns the restarts,
-- in any order.
-- Locks: none; the caller holds both flows and the old runs.
create function pgflow._restart_flow_runs(
  restarts pgflow._restart[], source text, target text, input jsonb, resumes boolean, rerun_skipped boolean)
returns pgflow._restart[]
language plpgsql
set search_path = ''
as $$
declare
  judged pgflow._restart[] := case when resumes
    then pgflow._take_over(restarts, source, target, rerun_skipped) else restarts end;
  made pgflow._restart[] := array(select r from unnest(judged) r where r.refused is null);
  first record;
  map record;
  after record;
begin
  if cardinality(made) = 0 then
    return judged;
  end if;

  select i.opened, i.ready, i.partial, i.closed into first
  from pgflow._insert_restarts(made, target, input, resumes) i;
  select e.finished, e.failed, e.woken into map from pgflow._take_over_elements(first.partial) e;
  select a.woken, a.dead_queues, a.dead_messages into after
  from pgflow._advance(
    first.closed || map.finished, first.ready, first.opened, map.failed,
    -- More than can be closed: whoever depends on the closed steps is always told.
    9223372036854775807,
    array(select m.new_run_id from unnest(made) m)) a;

  -- Only a run that fails at once has messages by now that nobody wants.
  perform pgflow._archive(after.dead_queues, after.dead_messages);
  if cardinality(map.woken || after.woken) > 0 then
    perform pgflow._notify(array(select distinct q from unnest(map.woken || after.woken) q));
  end if;
  return judged;
end
$$;
