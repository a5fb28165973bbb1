-- Runs by what an operator knows of them, the latest first, page by page.
--
-- filter   object; each key narrows:
--   flow          concrete flow or alias
--   status        a status or an array of them
--   step          a step of this name failed
--   error         regular expression on the error of the failed step
--   since, until  an age ('1d') or a timestamp
--   build         build-id or sha256 (8 characters or more) of the module that had the last attempt
--   host          the machine of that worker
--   unrestarted   true: without those of which retry or resume made another run
-- after_at, after_run   at and run_id of the last row of the page before; null: the first page
--
-- with_cause            false: step_slug, error and worker_id are not looked up where the filter does not need them
--
-- Rows:
--   run_id, flow_slug, status
--   at          failed_at where failed or cancelled runs alone are asked for, else started_at
--   step_slug   the step that failed first, of those asked for; null: none
--   error       its error
--   worker_id   who had the last attempt of its task; null: unknown
-- Locks: none. Errors: 22023 an unknown key or status, 42704 an unknown flow, build or host, 2201B no regular
-- expression, 22007 neither age nor timestamp.
create function pgflow.find_runs(
  filter jsonb default '{}', after_at timestamptz default null, after_run uuid default null, max_runs int default 1000,
  with_cause boolean default true)
returns table (run_id uuid, flow_slug text, status text, at timestamptz, step_slug text, error text, worker_id uuid)
language plpgsql
stable
security definer
set search_path = ''
-- planner: keys
as $$
begin
  return query
  select m.run_id, m.flow_slug, m.status, m.at, m.step_slug, m.error, m.worker_id
  from pgflow._matching_runs(pgflow._read_run_filter(filter), after_at, after_run, greatest(max_runs, 0),
                             coalesce(with_cause, true)) m;
end
$$;
