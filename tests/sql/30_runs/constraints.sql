-- The tables refuse states that no run, step or task may have, whatever writes them. One attempt for each constraint.
begin;
select plan(32);

select pgflow_test.chain('f', '{a,b}');
select pgflow.create_flow('s'), pgflow.add_step('s', 'a', required_input_pattern => '{"never": true}');
select pgflow.start_flow('f', '{}', pgflow_test.w(n)) from generate_series(11, 13) n;
select pgflow_test.claim('f', qty => 2);
select pgflow_test.report('a', 'completed', '1', run_id => pgflow_test.w(12));
select pgflow.cancel_run(pgflow_test.w(13));
select pgflow.start_flow('s', '{}', pgflow_test.w(14));
-- Run 11: a started, b created. 12: a completed, b queued. 13: cancelled. 14: completed by a skip.

create temporary table attempt (place int generated always as identity, refused_by text, statement text);
create function pg_temp.attempts(relation text, key text, variadic texts text[]) returns void language sql as $$
  insert into attempt (refused_by, statement)
  select format('%s_%s', relation, t[1]),
         format('update pgflow.%s set %s where (%s) = (%L::uuid%s)', relation, t[2], key, pgflow_test.w(left(t[3], 2)::int),
                case when length(t[3]) > 2 then format(', %L', right(t[3], 1)) else '' end)
  from (select array[texts[i], texts[i + 1], texts[i + 2]] as t from generate_series(1, cardinality(texts), 3) i) x
$$;
select pg_temp.attempts('runs', 'run_id',
  'status_is_known', 'status = $$paused$$', '11',
  'remaining_steps_not_negative', 'remaining_steps = -1', '11',
  'completed_has_nothing_left', 'remaining_steps = 1', '14',
  'output_only_when_completed', 'output = $$1$$', '11',
  'completed_at_exactly_when_completed', 'completed_at = null', '14',
  'failed_at_exactly_when_ended_otherwise', 'failed_at = null', '13',
  'end_not_before_start', 'completed_at = started_at - interval $$1 s$$', '14');
select pg_temp.attempts('step_states', 'run_id, step_slug',
  'status_is_known', 'status = $$paused$$', '11b',
  'counts_not_negative', 'remaining_deps = -1', '11b',
  'remaining_within_initial', 'remaining_tasks = 2', '11a',
  'created_has_no_tasks', 'remaining_tasks = 1', '11b',
  'started_is_whole', 'remaining_deps = 1', '11a',
  'completed_has_nothing_left', 'remaining_tasks = 1', '12a',
  'output_only_when_completed', 'output = $$1$$', '11a',
  'skip_reason_exactly_when_skipped', 'skip_reason = $$handler_failed$$', '11a',
  'skip_reason_is_known', 'skip_reason = $$bored$$', '14a',
  'completed_at_exactly_when_completed', 'completed_at = null', '12a',
  'failed_at_exactly_when_failed', 'failed_at = null', '13a',
  'skipped_at_exactly_when_skipped', 'skipped_at = null', '14a',
  'start_not_before_creation', 'created_at = $$2100-01-01$$', '11a',
  'end_not_before_start', 'completed_at = started_at - interval $$1 s$$', '12a');
select pg_temp.attempts('step_tasks', 'run_id, step_slug',
  'status_is_known', 'status = $$paused$$', '12b',
  'counts_not_negative', 'attempts_count = -1', '12b',
  'recover_at_exactly_when_started', 'recover_at = null', '11a',
  'queued_has_not_started', 'started_at = clock_timestamp()', '12b',
  'started_has_a_start', 'started_at = null', '11a',
  'output_only_when_completed_or_failed', 'output = $$1$$', '11a',
  'completed_at_exactly_when_completed', 'completed_at = null', '12a',
  'failed_at_exactly_when_failed', 'failed_at = clock_timestamp()', '11a',
  'start_not_before_queueing', 'queued_at = $$2100-01-01$$', '11a',
  'end_not_before_start', 'completed_at = started_at - interval $$1 s$$', '12a');

select throws_like(a.statement, format('%%violates check constraint "%s"', a.refused_by), a.refused_by)
from attempt a
order by a.place;
select set_eq('select refused_by from attempt',
  $$ select c.conname::text from pg_constraint c
     where c.contype = 'c' and c.conrelid in ('pgflow.runs'::regclass, 'pgflow.step_states'::regclass, 'pgflow.step_tasks'::regclass) $$,
  'no constraint is left out');

select * from finish();
rollback;
