-- Fails or skips a map, as its when_exhausted says, whose outputs do not fit into one array. Gives back the step as
-- finished (skipped; note 'cascade') or failed (note: the error).
-- Locks: the caller holds the run.
create function pgflow._fail_map(
  map pgflow._step_ref,
  reason text,
  out finished pgflow._step_ref[],
  out failed pgflow._step_ref[]
)
language plpgsql
set search_path = ''
as $$
declare
  ending text := (
    select s.when_exhausted from pgflow.steps s where s.flow_slug = map.flow_slug and s.step_slug = map.step_slug);
begin
  update pgflow.step_states st
  set status = case ending when 'fail' then 'failed' else 'skipped' end,
      error_message = format('[OUTPUT_TOO_LARGE] the outputs of the %s tasks do not fit into one array: %s',
                             st.initial_tasks, reason),
      skip_reason = case when ending <> 'fail' then 'handler_failed' end,
      failed_at = case when ending = 'fail' then greatest(clock_timestamp(), st.started_at) end,
      skipped_at = case when ending <> 'fail' then greatest(clock_timestamp(), st.started_at) end
  where st.run_id = map.run_id and st.step_slug = map.step_slug
  returning case ending when 'fail' then st.error_message when 'skip-cascade' then 'cascade' end into map.note;

  finished := case when ending = 'fail' then '{}' else array[map] end;
  failed := case when ending = 'fail' then array[map] else '{}' end;
end
$$;
