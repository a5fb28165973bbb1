-- Whether what this transaction has made visible on a queue must be notified, because a host may sleep that would not
-- see it. The starter's half of the protocol in docs/internals/wake.md; begin_idle is the other.
-- queue_name: in lower case.
--
-- True at once where a host is idle in this very session, whose locks never conflict with its own; where a live worker
-- takes no locks (hosts of 0.1); where the transaction has 32 such locks already, for the lock table is small. The
-- setting pgflow.open_starts counts them, 9 characters a lock, and goes back with a savepoint as they do.
--
-- The lock S is asked for and let go of in one expression: a cancel between two statements would leave it behind.
-- Locks, all of them tries: T in share mode until the transaction ends; S exclusively, for an instant.
create function pgflow._must_notify(queue_name text)
returns boolean
language plpgsql
set search_path = ''
-- planner: order
set jit = off
as $$
declare
  lock_class constant int := -1885826166;
  hash constant int := hashtext(queue_name);
  entry constant text := lpad(to_hex(hash & -2), 8, '0') || ' ';
  entries constant text := coalesce(current_setting('pgflow.open_starts', true), '');
begin
  if strpos(coalesce(current_setting('pgflow.idle_queues', true), ''), entry) > 0 or exists (
    select from pgflow.workers w
    where lower(w.queue_name) = any (array[$1]) and w.needs_notify and w.stopped_at is null
      and w.deprecated_at is null and not w.standby
      and w.last_heartbeat_at > clock_timestamp() - interval '1 minute')
  then
    return true;
  end if;

  if strpos(entries, entry) = 0 then
    if length(entries) >= 32 * length(entry) then
      return true;
    end if;
    perform set_config('pgflow.open_starts', entries || entry, true);
  end if;
  if not pg_try_advisory_xact_lock_shared(lock_class, hash & -2) then
    return true;
  end if;
  return not (pg_try_advisory_lock(lock_class, hash | 1) and pg_advisory_unlock(lock_class, hash | 1));
end
$$;
