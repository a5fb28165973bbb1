-- Hides the messages of tasks that are tried again until their next attempt is due. Returns the queues on which one is
-- visible now (a delay of 0). A message that is gone, because somebody emptied the queue, is sent anew: a queued task
-- without a message would wait for ever.
-- Locks: the messages by queue and id; the caller holds the tasks. Callers: _apply_results.
create function pgflow._delay_retries(verdicts pgflow._verdict[])
returns text[]
language plpgsql
set search_path = ''
as $$
declare
  woken text[];
  wanted bigint;
  found_queues text[];
  found_messages bigint[];
begin
  select count(*), array_agg(distinct v.queue_name) filter (where v.delay = 0)
  into wanted, woken
  from unnest(verdicts) v
  where v.verdict = 'retry';

  select array_agg(r.queue_name), array_agg(m.msg_id) into found_queues, found_messages
  from (
    select v.queue_name, array_agg(v.message_id) as ids, array_agg(v.delay) as delays
    from unnest(verdicts) v
    where v.verdict = 'retry' and v.message_id is not null
    group by v.queue_name
    order by v.queue_name
  ) r
  cross join lateral pgflow.set_vt_batch(r.queue_name, r.ids, r.delays) m;

  if wanted > coalesce(cardinality(found_messages), 0) then
    perform pgflow._resend_retries(verdicts, found_queues, found_messages);
  end if;
  return woken;
end
$$;
