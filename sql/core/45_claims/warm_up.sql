-- Prepares this session for claims and results: every statement of theirs that keeps its plan is run once, on nothing.
-- The first claim and the first flush of a session would otherwise plan some twenty statements, which takes longer than
-- a hundred tasks. It changes nothing, locks no row and takes no transaction id, whatever the queue holds.
--
-- The settings are those of finish_tasks, by which the plans of the results are made; functions of the claim have
-- their own.
-- Locks: none.
create function pgflow.warm_up(queue_name text)
returns void
language plpgsql
security definer
set search_path = ''
-- planner: keys
as $$
declare
  nobody constant uuid := gen_random_uuid();
  nothing pgflow._message_batch;
  no_step constant pgflow._step_ref[] := array[row(nobody, '', '', null)::pgflow._step_ref];
begin
  -- Twice: a session's mark moves with the second look.
  perform pgflow._due_from_low_water(queue_name, clock_timestamp());
  perform pgflow._due_from_low_water(queue_name, clock_timestamp());
  perform pgflow._registered_pairs(nobody);
  perform pgflow._pin_fence(null::pgflow.workers);
  perform pgflow._lock_tasks(queue_name, '{}');
  perform pgflow._classify_messages(queue_name, nothing, '{}', '{}', '{}');
  perform pgflow._start_items('{}', nobody, true);
  perform pgflow._safe_item_rows(queue_name, '{}', false);

  perform pgflow.finish_tasks(nobody, '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}');
  perform pgflow._count_results('{}');
  perform pgflow._advance(no_step, '{}', '{}', '{}', 2, '{}');
  perform pgflow._create_tasks('{}');
  perform pgflow._archive('{}', '{}');
end
$$;
