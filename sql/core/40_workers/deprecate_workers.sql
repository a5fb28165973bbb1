-- For operators: deprecates every row of these functions that is not stopped,
-- live or silent, working or standing by. They finish what they hold and end;
-- none of them claims anything after this commits, however late it wakes up.
-- Returns how many rows were deprecated. Disable the functions first, in a
-- transaction of its own: otherwise a supervisor brings old code back.
-- Locks: an advisory lock, then the worker rows, by id; waits for claims that hold them.
-- Errors: 42704, a name with neither a function row nor a worker row.
create function pgflow.deprecate_workers(function_names text[])
returns int
language plpgsql
security definer
set search_path = ''
-- planner: keys
as $$
declare
  deprecated int := 0;
  round int;
begin
  perform pgflow._check_functions_exist(array(
    select n from unnest(function_names) n
    where not exists (select from pgflow.workers w where w.function_name = n)));
  -- A process that registers anew holds its earlier row, which this waits for. The new row is not
  -- in the snapshot of the statement that waited, so look again until nothing is found; a
  -- registration that comes later is superseded. The new row's id may be below those that are held: two
  -- deprecations at once would meet in opposite order, hence one at a time.
  perform pg_advisory_xact_lock(-1885826167, 2);
  loop
    with locked as (
      select w.worker_id
      from pgflow.workers w
      where w.function_name = any ($1) and w.stopped_at is null and w.deprecated_at is null
      order by w.worker_id
      for no key update
    )
    update pgflow.workers w
    set deprecated_at = greatest(clock_timestamp(), w.started_at)
    from locked
    where w.worker_id = locked.worker_id;
    get diagnostics round = row_count;
    deprecated := deprecated + round;
    exit when round = 0 and not exists (
      select from pgflow.workers w
      where w.function_name = any ($1) and w.stopped_at is null and w.deprecated_at is null);
  end loop;
  perform pgflow._tell_hosts(function_names);
  return deprecated;
end
$$;
