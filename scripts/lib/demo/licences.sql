-- Families and the most frequent licences, with bars, from the summary of the run
-- of V2 that had a policy, and what its policy flagged.
with summary as (
  select s.output
  from pgflow.step_states s
  join pgflow.runs r using (run_id)
  where s.step_slug = 'summary' and s.flow_slug = 'license_audit_v2' and r.input ? 'policy' and s.status = 'completed'
), counted (part, place, name, packages) as (
  select 1, place, row ->> 'family', (row ->> 'packages')::int
  from summary, jsonb_array_elements(output -> 'byFamily') with ordinality as family (row, place)
  union all
  select 2, place, row ->> 'license', (row ->> 'packages')::int
  from summary, jsonb_array_elements(output -> 'byLicense') with ordinality as license (row, place)
  where place <= 12
), flagged (total) as (
  select output ->> 'flagged' from pgflow.step_states where step_slug = 'flag_copyleft' and status = 'completed'
), output (part, place, line) as (
  select part, place, format('  %s %s  %s', rpad(name, 24), lpad(packages::text, 5),
    repeat('█', greatest(1, 40 * packages / max(packages) over (partition by part))::int))
  from counted
  union all
  select 1, 1000, ''
  union all
  select 3, 1, format(E'\n  the policy flagged %s packages', total) from flagged
)
select line from output order by part, place
