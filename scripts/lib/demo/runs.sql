-- One line a run: which version, how it ended, its tasks by host generation, the
-- steps it skipped.
select format('  %s  %s  %s tasks in %s s%s', rpad(r.flow_slug, 17), rpad(r.status, 9), lpad(t.tasks::text, 5),
  to_char(extract(epoch from coalesce(r.completed_at, r.failed_at) - r.started_at), 'FM9990.00'),
  coalesce(', skipped: ' || s.skipped, ''))
from pgflow.runs r
cross join lateral (select count(*) as tasks from pgflow.step_tasks t where t.run_id = r.run_id) t
cross join lateral (
  select string_agg(format('%s (%s)', s.step_slug, replace(s.skip_reason, '_', ' ')), ', ' order by s.step_slug) as skipped
  from pgflow.step_states s
  where s.run_id = r.run_id and s.status = 'skipped'
) s
order by r.started_at
