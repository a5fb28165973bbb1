-- One line a version: its runs, as the load started them and as they ended, and
-- their tasks. A run whose tasks were not all of its own version would be mixed.
with run as (
  select d.flow_slug as started_on, r.flow_slug, r.status,
    (select count(*) from pgflow.step_tasks t where t.run_id = d.run_id) as tasks,
    exists (select from pgflow.step_tasks t where t.run_id = d.run_id and t.flow_slug <> d.flow_slug) as mixed
  from demo.starts d
  left join pgflow.runs r on r.run_id = d.run_id
)
select format('  %s  %s runs started, %s completed, %s mixed, %s tasks', started_on, lpad(count(*)::text, 4),
  lpad((count(*) filter (where status = 'completed'))::text, 4), count(*) filter (where mixed), lpad(sum(tasks)::text, 5))
from run
group by started_on
order by started_on
