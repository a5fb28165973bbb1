-- Gives back tasks that a host has claimed and does not finish: lateness, a
-- stop, a handler that another host should run.
--
-- Parallel arrays, one item a claim: task key, claim_no as claimed, started (the
-- handler had started). delay: seconds until the messages are visible.
-- One row an item, 1-based: released | late (no longer this claim's: finished,
-- recovered or claimed again) | gone (no such task). The same claim named twice:
-- the second is late.
-- Locks: the runs by id, for share, the task rows in order, then their messages.
-- Errors: 22023, arrays of different length or a negative delay; 55P03, a lock that
-- is not to be had within 2 s (see finish_tasks).
create function pgflow.release_tasks(
  worker_id uuid, run_ids uuid[], step_slugs text[], task_indexes int[], claim_nos int[],
  started boolean[], delay int default 0)
returns table (item int, outcome text)
language plpgsql
security definer
set search_path = ''
set lock_timeout = '2s'
-- planner: keys
as $$
declare
  mine int[];
begin
  perform pgflow._check_same_length('release_tasks', run_ids, step_slugs, task_indexes, claim_nos);
  if cardinality(started) is distinct from cardinality(run_ids) or delay is null or delay < 0 then
    raise exception 'release_tasks: % items, % values of started, delay %',
        cardinality(run_ids), cardinality(started), delay
      using errcode = 'invalid_parameter_value', hint = 'Give one started for each item and a delay of at least 0 seconds.';
  end if;

  -- Runs first: a result that fails one of them ends its other tasks while it holds the reported ones, in no order
  -- that this batch could follow.
  perform from pgflow.runs r where r.run_id = any (run_ids) order by r.run_id for share;
  -- Sorted by what was given: sorted by the rows of the table, its whole index would be a way to the order.
  perform
  from (
    select g.run_id, g.step_slug, g.task_index
    from unnest(run_ids, step_slugs, task_indexes) as g(run_id, step_slug, task_index)
    order by g.run_id, g.step_slug, g.task_index
    offset 0
  ) g
  cross join lateral (
    select from pgflow.step_tasks t
    where t.run_id = g.run_id and t.step_slug = g.step_slug and t.task_index = g.task_index
    for update
    offset 0
  ) t;

  mine := array(
    select min(g.item)::int
    from unnest(run_ids, step_slugs, task_indexes, claim_nos)
           with ordinality as g(run_id, step_slug, task_index, claim_no, item)
    cross join lateral (
      select t.status, t.last_worker_id, t.claim_no
      from pgflow.step_tasks t
      where t.run_id = g.run_id and t.step_slug = g.step_slug and t.task_index = g.task_index
      offset 0
    ) t
    where t.status = 'started' and t.last_worker_id = $1 and t.claim_no = g.claim_no
    group by g.run_id, g.step_slug, g.task_index);
  perform pgflow._give_back(
    array_agg(run_ids[m]), array_agg(step_slugs[m]), array_agg(task_indexes[m]),
    array_agg(started[m]), delay)
  from unnest(mine) m
  having count(*) > 0;

  return query
    select g.item::int,
      case when g.item = any (mine) then 'released'
           when t.run_id is null then 'gone'
           else 'late' end
    from unnest(run_ids, step_slugs, task_indexes)
           with ordinality as g(run_id, step_slug, task_index, item)
    left join lateral (
      select t.run_id
      from pgflow.step_tasks t
      where t.run_id = g.run_id and t.step_slug = g.step_slug and t.task_index = g.task_index
      offset 0
    ) t on true
    order by g.item;
end
$$;
