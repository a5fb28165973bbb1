-- The claim, from the messages taken to the answer: locks the tasks, classifies
-- the whole batch before any change, then either starts what may start or, with
-- a single unsupported message in it, lets the guard give everything back.
--
-- bump, rest_at, check_reads: see _set_visibility and _guard_batch
-- Locks: task rows by skip locked.
create function pgflow._claim_batch(
  queue_name text, batch pgflow._message_batch, worker_id uuid, supported pgflow.task_pair[],
  held pgflow.task_pair[], bump int, rest_at timestamptz, check_reads boolean)
returns setof pgflow.claim_row
language plpgsql
set search_path = ''
as $$
declare
  locked_ids bigint[] := pgflow._lock_tasks(queue_name, batch.msg_ids);
  items pgflow._claim_item[] :=
    pgflow._classify_messages(queue_name, batch, locked_ids, supported, held);
  stale_ids bigint[];
begin
  if exists (select from unnest(items) i where i.outcome = 'unsupported') then
    return query select g.* from pgflow._guard_batch(
      queue_name, items, worker_id, bump, rest_at, check_reads) g;
    return;
  end if;

  perform pgflow._start_items(items, worker_id, true);
  perform pgflow._set_visibility(queue_name, items, bump, rest_at);

  stale_ids := array(select i.msg_id from unnest(items) i where i.outcome = 'stale' and i.present);
  if stale_ids <> '{}' then
    perform pgflow._archive(array_fill(lower(queue_name), array[cardinality(stale_ids)]), stale_ids);
  end if;

  return query select a.* from pgflow._safe_item_rows(queue_name, items, false) a;
end
$$;
