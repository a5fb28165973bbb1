-- Deprecates the rows of these functions, live or silent, working or standing by, whose
-- code is not to serve: names and module_sets in parallel. Where no sets are given, rows
-- from before a moment. How many. Rows of the right code stay.
-- Locks: an advisory lock, then the worker rows, by id; as deprecate_workers, which says why.
create function pgflow._deprecate_other_code(names text[], module_sets jsonb[], moment timestamptz)
returns int
language plpgsql
set search_path = ''
as $$
declare
  deprecated int := 0;
  round int;
begin
  perform pg_advisory_xact_lock(-1885826167, 2);
  loop
    with locked as (
      select w.worker_id
      from unnest(names, module_sets) as f (function_name, module_sets)
      join pgflow.workers w on w.function_name = f.function_name
      where w.stopped_at is null and w.deprecated_at is null
        and case when f.module_sets is null then w.started_at < moment
              else not pgflow._carries_one_of(w.info -> 'modules', f.module_sets) or not w.standby and w.started_at < moment end
      order by w.worker_id
      for no key update of w
    )
    update pgflow.workers w
    set deprecated_at = greatest(clock_timestamp(), w.started_at)
    from locked
    where w.worker_id = locked.worker_id;
    get diagnostics round = row_count;
    deprecated := deprecated + round;
    exit when round = 0;
  end loop;
  perform pgflow._tell_hosts(names);
  return deprecated;
end
$$;
