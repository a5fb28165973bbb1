-- Sets the visibility that the outcomes of a claim ask for, in one statement.
--
-- items     those with a visible_at; the others stay as they are
-- bump      added to read_ct: 1 when this claim is the read, else 0
-- rest_at   when bump is 1: the visibility of the items without a visible_at
-- Every message here is locked by this transaction. If one that is to be started
-- is gone all the same, the claim must not start anything: an error undoes it.
-- Locks: none beyond those. Errors: 40001, a message is gone.
create function pgflow._set_visibility(
  queue_name text, items pgflow._claim_item[], bump int, rest_at timestamptz)
returns void
language plpgsql
set search_path = ''
-- planner: loops
set jit = off
as $$
declare
  queue_table text := pgmq.format_table_name(queue_name, 'q');
  were_set int;
  missing int;
begin
  execute format($query$
    update pgmq.%I m
    set vt = coalesce(i.visible_at, $3), read_ct = m.read_ct + $2
    from unnest($1) i
    where m.msg_id = any (array[i.msg_id])
      and i.outcome <> 'stale'
      and (i.visible_at is not null or $3 is not null)
    $query$, queue_table)
  using items, bump, rest_at;
  get diagnostics were_set = row_count;
  -- A plain update costs less to plan than one that counts its rows by outcome: count only when
  -- one is missing, which may be a message that nothing was to happen to.
  if were_set = cardinality(items) then
    return;
  end if;

  execute format($query$
    select count(*)
    from unnest($1) i
    where i.outcome = 'started' and not exists (select from pgmq.%I m where m.msg_id = i.msg_id offset 0)
    $query$, queue_table)
  using items
  into missing;
  if missing > 0 then
    raise exception 'queue "%": the messages of % queued tasks are gone', queue_name, missing
      using errcode = 'serialization_failure',
            detail = 'Nothing of this claim was started.',
            hint = 'Somebody removed messages from the queue; end the runs concerned with pgflow.cancel_run.';
  end if;
end
$$;
