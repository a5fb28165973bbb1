-- Registers a worker process for one queue, with the exact pairs that it runs.
--
-- standby      alive, without pairs; always allowed, its claims are 'fenced'
-- held         pairs of supported that it cannot run just now
-- predecessor  this process's earlier row, stopped in the same transaction; only
--              a fresh process gives none
-- Returns registered | disabled (the function is, by whomever) | other_queue (the
-- function has a live working worker on another queue) | wrong_modules | not_in_manifest
-- (the applied manifests keep it away: _pin_fence; disabled for a host of 0.1, which knows
-- neither word) | superseded (predecessor, or this very row, is deprecated, or predecessor
-- is missing). Only 'registered' changes anything. The same id again replaces its pairs: a
-- lost answer may be retried.
--
-- A working registration deletes the gap that note_coverage_gap noted for these modules.
-- A function that nobody tracked is tracked, as 'process'.
-- Locks: the predecessor's row, this row, then the function row, whose lock makes
-- a registration and an operator's disable never cross, nor two registrations. The pins
-- are read without a lock, after that one: apply_manifest holds it while it writes them.
create function pgflow.register_worker(
  worker_id uuid, queue_name text, function_name text, supported pgflow.task_pair[],
  info jsonb default '{}', standby boolean default false,
  held pgflow.task_pair[] default '{}', predecessor uuid default null)
returns text
language plpgsql
security definer
set search_path = ''
-- planner: keys
as $$
declare
  known pgflow.workers;
  fresh pgflow.workers;
  refusal text;
begin
  perform pgflow._check_host_version(info);
  perform pgflow._check_function(function_name, 'process');
  if predecessor is not null and not pgflow._lock_predecessor(predecessor) then
    return 'superseded';
  end if;
  select w.* into known from pgflow.workers w where w.worker_id = $1 for no key update;
  if known.deprecated_at is not null or known.stopped_at is not null then
    return 'superseded';
  end if;

  insert into pgflow.worker_functions (function_name, start_mode)
  values ($3, 'process')
  on conflict on constraint worker_functions_pkey do nothing;
  if not standby then
    refusal := pgflow._registration_refusal(worker_id, queue_name, function_name, predecessor);
    if refusal is not null then
      return refusal;
    end if;
    fresh.worker_id := worker_id;
    fresh.queue_name := lower(queue_name);
    fresh.function_name := function_name;
    fresh.info := coalesce(info, '{}');
    refusal := pgflow._pin_fence(fresh);
    if refusal is not null then
      return case when pgflow._knows_pins(info) then refusal else 'disabled' end;
    end if;
    fresh.admitted_pin := (pgflow._pin_of(function_name)).pin_id;
  end if;

  update pgflow.workers w
  set stopped_at = greatest(clock_timestamp(), w.started_at)
  where w.worker_id = $8 and w.worker_id <> $1 and w.stopped_at is null;
  insert into pgflow.workers as w (worker_id, queue_name, function_name, standby, info, admitted_pin, needs_notify)
  values ($1, lower($2), $3, $6, coalesce($5, '{}'), fresh.admitted_pin, $5 -> 'idleLocks' is distinct from 'true')
  on conflict on constraint workers_pkey do update
  set queue_name = excluded.queue_name,
      function_name = excluded.function_name,
      standby = excluded.standby,
      info = excluded.info,
      admitted_pin = excluded.admitted_pin,
      needs_notify = excluded.needs_notify,
      last_heartbeat_at = greatest(clock_timestamp(), w.last_heartbeat_at);
  if not standby then
    -- It covers its queue: a later start that does not is the first one again.
    delete from pgflow.coverage_gaps g
    where g.function_name = $3 and g.queue_name = lower($2) and g.modules_digest = pgflow._modules_digest(info);
  end if;
  perform pgflow._set_pairs(worker_id, case when standby then '{}' else supported end, held);
  return 'registered';
end
$$;
