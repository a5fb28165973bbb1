-- The guard: a batch with at least one unsupported message. Nothing is started
-- or archived and no attempt counted. What this read still holds becomes visible
-- at once, and the worker's function is paused in the same transaction, last.
--
-- Still held: read_ct as this read left it, tested in the update itself, so that
-- the lease of another worker that has re-read a message stays untouched, whatever
-- the outcome. A caller that gave no read_cts (check_reads false) gets its queued
-- tasks reset. busy and foreign messages get what their outcome asks for.
--
-- Returns the rows of the whole batch: unsupported ones with their pairs; tasks
-- that would have been started as 'held', reason 'unsupported_batch' (so are the
-- stale and held ones, which nothing happens to but the reset).
-- Locks: none on messages beyond the claim's, then the function row (last in
-- the lock order). A function that is disabled already is left alone.
create function pgflow._guard_batch(
  queue_name text, items pgflow._claim_item[], worker_id uuid, bump int, rest_at timestamptz,
  check_reads boolean)
returns setof pgflow.claim_row
language plpgsql
set search_path = ''
set enable_seqscan = off
set jit = off
as $$
declare
  moment timestamptz := clock_timestamp();
begin
  execute format($query$
    update pgmq.%I m
    set vt = case when i.outcome in ('busy', 'foreign') then coalesce(i.visible_at, $3, m.vt)
                  else $4 end,
        read_ct = m.read_ct + $2
    from unnest($1) i
    where m.msg_id = any (array[i.msg_id])
      and i.present
      and (not $5 or m.read_ct + $2 = i.read_ct)
      and case when i.outcome in ('busy', 'foreign') then coalesce(i.visible_at, $3) is not null
               else $5 or i.outcome <> 'stale' end
    $query$, pgmq.format_table_name(queue_name, 'q'))
  using items, bump, rest_at, moment, check_reads;
  perform pgflow._notify(array[queue_name]);
  perform pgflow._pause_function(queue_name, items, worker_id);
  perform pgflow._tell_hosts(pgflow._functions_of_workers(array[worker_id]));

  return query
    select (a).*
    from (
      select row(
        case when i.outcome = 'started' then 'held' else i.outcome end,
        lower($1), i.msg_id, i.flow_slug, i.run_id, i.step_slug, i.task_index, null, i.max_attempts,
        null, i.timeout, null, null, null, i.body_mismatch,
        case when i.outcome in ('busy', 'foreign', 'unsupported') then i.reason else 'unsupported_batch' end,
        case when i.outcome = 'busy' then i.due_in_ms end)::pgflow.claim_row as a
      from unnest(items) i
      order by i.place
    ) answer;
end
$$;
