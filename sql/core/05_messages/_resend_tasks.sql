-- Sends a message for those of these tasks of one queue that are queued and have none there, visible now. Returns
-- whether there was one; null: they could not be sent. Tasks of runs that have ended are ended instead.
-- notes: tasks that the caller has locked, in a statement before this one, so that what it sees of them stays.
-- A queue that is gone has its notes stay until it is back; so has one that refuses the messages, with a warning.
-- Locks: as _end_strays.
create function pgflow._resend_tasks(queue_name text, notes pgflow.lost_messages[])
returns boolean
language plpgsql
set search_path = ''
-- planner: loops
set enable_bitmapscan = off
set jit = off
as $$
declare
  lost_runs uuid[];
  lost_steps text[];
  lost_indexes int[];
  bodies jsonb[];
begin
  if to_regclass(format('pgmq.%I', pgmq.format_table_name(queue_name, 'q'))) is null then
    return null;
  end if;

  perform pgflow._end_strays(
    array_agg(n.run_id), array_agg(n.step_slug), array_agg(n.task_index))
  from unnest(notes) n;

  execute format($query$
    select array_agg(t.run_id) as run_ids, array_agg(t.step_slug) as step_slugs,
           array_agg(t.task_index) as task_indexes,
           array_agg(jsonb_build_object('flow_slug', t.flow_slug, 'run_id', t.run_id,
                                        'step_slug', t.step_slug, 'task_index', t.task_index)) as bodies
    from (select distinct n.run_id, n.step_slug, n.task_index from unnest($1) n) n
    cross join lateral (
      select x.* from pgflow.step_tasks x
      where x.run_id = any (array[n.run_id]) and x.step_slug = n.step_slug and x.task_index = n.task_index
      limit 1) t
    where t.status || '' = 'queued' and t.queue_name = $2
      and not exists (select from pgmq.%I m where m.msg_id = t.message_id)
    $query$, pgmq.format_table_name(queue_name, 'q'))
  using notes, queue_name
  into lost_runs, lost_steps, lost_indexes, bodies;
  if lost_runs is null then
    return false;
  end if;

  update pgflow.step_tasks t
  set message_id = l.message_id
  from rows from (
    unnest(lost_runs, lost_steps, lost_indexes),
    pgmq.send_batch($1, bodies, null::jsonb[], clock_timestamp())
  ) as l (run_id, step_slug, task_index, message_id)
  where t.run_id = any (array[l.run_id]) and t.step_slug = l.step_slug and t.task_index = l.task_index;
  return true;
exception
  when undefined_table or unique_violation or lock_not_available then
    raise warning 'queue "%": % tasks without a message were not sent: % (%)',
      queue_name, cardinality(notes), sqlerrm, sqlstate;
    return null;
end
$$;
