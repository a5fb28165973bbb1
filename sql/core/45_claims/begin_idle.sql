-- A host that listens on pgflow_q_<queue> in this session is about to sleep: from now on what becomes visible there is
-- notified. The sleeper's half of the protocol in docs/internals/wake.md; _must_notify is the other.
--
-- asleep   every later start notifies, and every earlier one is visible to a claim in a LATER statement: claim, then sleep
-- watched  every later start notifies, one that is open now may not: poll, and ask again
-- awake    nothing notifies: poll
-- insist false: takes nothing while a start is open (for a host that is busy: it would be notified of each).
--
-- Asking again is harmless. end_idle, or the end of the session, ends it. Not behind a transaction pooler: the
-- locks belong to the session.
-- Locks, all of them tries: S in share mode until end_idle or the end of the session; T exclusively, for an instant, let go of in the same
-- expression, so that a cancel leaves nothing behind.
create function pgflow.begin_idle(queue_name text, insist boolean default true)
returns text
language plpgsql
security definer
set search_path = ''
as $$
declare
  lock_class constant int := -1885826166;
  hash constant int := hashtext(lower(queue_name));
  entry constant text := lpad(to_hex(hash & -2), 8, '0') || ' ';
  entries constant text := coalesce(current_setting('pgflow.idle_queues', true), '');
  is_idle constant boolean := strpos(entries, entry) > 0;
begin
  if queue_name is null then
    raise exception 'queue_name is null' using errcode = 'null_value_not_allowed';
  end if;
  if not is_idle and not insist
     and not (pg_try_advisory_lock(lock_class, hash & -2) and pg_advisory_unlock(lock_class, hash & -2)) then
    return 'awake';
  end if;
  if not is_idle then
    -- The setting first: without it a session would not notify itself.
    perform set_config('pgflow.idle_queues', entries || entry, false);
    if not pg_try_advisory_lock_shared(lock_class, hash | 1) then
      perform set_config('pgflow.idle_queues', entries, false);
      return 'awake';
    end if;
  end if;
  return case
    when pg_try_advisory_lock(lock_class, hash & -2) and pg_advisory_unlock(lock_class, hash & -2) then 'asleep'
    else 'watched'
  end;
end
$$;
