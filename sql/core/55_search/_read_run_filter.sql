-- Reads a filter for runs (find_runs has its keys) and refuses what it does not know.
-- Locks: none. Errors: 22023 an unknown key or status, 42704 an unknown flow, build or host, 2201B a regular expression
-- that is none, 22007 a time or age that is none.
create function pgflow._read_run_filter(filter jsonb)
returns pgflow._run_filter
language plpgsql
stable
set search_path = ''
as $$
declare
  f pgflow._run_filter;
  bad text;
begin
  select k.key into bad
  from jsonb_object_keys(filter) as k (key)
  where k.key not in ('flow', 'status', 'step', 'error', 'since', 'until', 'build', 'host', 'unrestarted')
  order by 1
  limit 1;
  if bad is not null then
    raise exception 'a filter for runs has no key "%"', bad
      using errcode = 'invalid_parameter_value',
            hint = 'The keys are flow, status, step, error, since, until, build, host, unrestarted.';
  end if;

  f.statuses := array(select jsonb_array_elements_text(case jsonb_typeof(filter -> 'status')
    when 'array' then filter -> 'status' when 'string' then jsonb_build_array(filter -> 'status')
    else '["started", "completed", "failed", "cancelled"]' end));
  select s.status into bad from unnest(f.statuses) as s (status)
  where s.status not in ('started', 'completed', 'failed', 'cancelled') limit 1;
  if bad is not null then
    raise exception 'there is no status "%" of runs', bad
      using errcode = 'invalid_parameter_value', hint = 'Give started, completed, failed or cancelled.';
  end if;
  f.by_end := f.statuses <@ array['failed', 'cancelled'];

  if filter ->> 'flow' is not null then
    f.flow_slugs := array(
      select x.flow_slug from pgflow.flows x where x.flow_slug = filter ->> 'flow' or x.alias = filter ->> 'flow');
    if f.flow_slugs = '{}' then
      raise exception 'there is no flow and no alias "%"', filter ->> 'flow'
        using errcode = 'undefined_object', hint = 'The table pgflow.flows lists the flows; names are case sensitive.';
    end if;
  end if;

  f.step_slug := filter ->> 'step';
  f.error := filter ->> 'error';
  perform '' ~ f.error;
  f.since := pgflow._point_in_time(filter ->> 'since');
  f.until := pgflow._point_in_time(filter ->> 'until');
  f.is_unrestarted := coalesce((filter ->> 'unrestarted')::boolean, false);
  if filter ? 'build' or filter ? 'host' then
    f.worker_ids := pgflow._workers_of(filter ->> 'build', filter ->> 'host');
  end if;
  return f;
end
$$;
