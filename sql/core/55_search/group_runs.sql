-- How many runs a filter asks for, in all or by what they have in common: the first look at a bad night.
--
-- filter       as in find_runs
-- group_by     null: one row; else error, step, build, host, flow or status
--
-- Rows, the largest group first:
--   name         what they share: of an error its first line, with numbers as <n> and ids as <id>, so that errors that
--                differ in nothing else are one; of a build the sha256, else the build-id. Null: unknown, or none
--   runs         how many
--   first_at, last_at   as find_runs has `at`
--   example_run  the latest of them
-- Locks: none. Errors: as find_runs; 22023 for another group_by.
create function pgflow.group_runs(filter jsonb default '{}', group_by text default null)
returns table (name text, runs bigint, first_at timestamptz, last_at timestamptz, example_run uuid)
language plpgsql
stable
security definer
set search_path = ''
-- planner: keys
as $$
begin
  if group_by not in ('error', 'step', 'build', 'host', 'flow', 'status') then
    raise exception 'runs cannot be grouped by "%"', group_by
      using errcode = 'invalid_parameter_value', hint = 'Give error, step, build, host, flow or status.';
  end if;
  return query
  select k.name, count(*), min(m.at), max(m.at), (array_agg(m.run_id order by m.at desc, m.run_id desc))[1]
  from pgflow._matching_runs(pgflow._read_run_filter(filter), null, null, null,
                             coalesce(group_by in ('error', 'step', 'build', 'host'), false)) m
  cross join lateral (
    select case group_by
      when 'error' then pgflow._error_kind(m.error)
      when 'step' then m.step_slug
      when 'flow' then m.flow_slug
      when 'status' then m.status
      when 'build' then pgflow._build_of(m.worker_id, m.flow_slug)
      when 'host' then (select w.info ->> 'host' from pgflow.workers w where w.worker_id = m.worker_id)
    end) as k (name)
  group by k.name
  order by 2 desc, 1;
end
$$;
