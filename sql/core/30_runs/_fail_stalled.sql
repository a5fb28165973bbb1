-- Fails started tasks for good that recovery gave up on: the normal final failure, without a retry; when_exhausted
-- decides. Arrays are parallel; message is the error of each. Tasks that are no longer started, or no longer past their
-- deadline, are passed over: they are looked at again under their locks.
-- Locks: runs by id, tasks by (run, step, index), messages.
create function pgflow._fail_stalled(run_ids uuid[], step_slugs text[], task_indexes int[], message text)
returns void
language plpgsql
set search_path = ''
-- planner: keys
as $$
begin
  perform pgflow._apply_results(null, run_ids, step_slugs, task_indexes, null,
                                array_fill('stalled'::text, array[cardinality(run_ids)]), null,
                                array_fill(message, array[cardinality(run_ids)]), null);
end
$$;
