-- What one reported result does to its task. Made by _judge_results, one per item whose task exists.
--
-- item      place in the caller's arrays, from 1
-- verdict   completed | violated | retry | fail | skip | skip-cascade, and two that change nothing: again | late
-- result    as reported: completed | failed | permanent | refused | stalled
-- error     for a failure the text to store; for again and late the reason to tell
-- delay     of a retry, seconds
create type pgflow._verdict as (
  item int,
  verdict text,
  result text,
  run_id uuid,
  flow_slug text,
  step_slug text,
  task_index int,
  queue_name text,
  message_id bigint,
  is_map boolean,
  output jsonb,
  error text,
  delay int
);
