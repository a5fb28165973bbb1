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
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
as $$
declare
  to_start int := (select count(*) from unnest(items) i where i.outcome = 'started');
  set_started int;
begin
  execute format($query$
    with done as (
      update pgmq.%I m
      set vt = coalesce(i.visible_at, $3), read_ct = m.read_ct + $2
      from unnest($1) i
      where m.msg_id = i.msg_id
        and i.outcome <> 'stale'
        and (i.visible_at is not null or $3 is not null)
      returning i.outcome
    )
    select count(*) filter (where d.outcome = 'started') from done d
    $query$, pgmq.format_table_name(queue_name, 'q'))
  using items, bump, rest_at
  into set_started;

  if set_started <> to_start then
    raise exception 'queue "%": the messages of % queued tasks are gone', queue_name, to_start - set_started
      using errcode = 'serialization_failure',
            detail = 'Nothing of this claim was started.',
            hint = 'Somebody removed messages from the queue; end the runs concerned with pgflow.cancel_run.';
  end if;
end
$$;
