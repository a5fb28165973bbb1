-- Ends live tasks whose run or step has ended: nobody can claim, finish or recover them. No call of ours leaves one;
-- data that came from elsewhere, or was changed by hand, may have thousands.
-- They become 'skipped' where their step is, else 'cancelled'; their messages are archived. Returns their number; tasks
-- that go on are passed over. Parallel arrays of task keys, which the caller has locked.
-- Locks: the messages.
create function pgflow._end_strays(run_ids uuid[], step_slugs text[], task_indexes int[])
returns int
language plpgsql
set search_path = ''
-- planner: loops
set jit = off
as $$
declare
  ended record;
begin
  with ended as (
    update pgflow.step_tasks t
    set status = case when i.step_status = 'skipped' then 'skipped' else 'cancelled' end,
        recover_at = null
    from (
      select k.run_id, k.step_slug, k.task_index, r.status as run_status, ss.status as step_status
      from unnest(run_ids, step_slugs, task_indexes) as k (run_id, step_slug, task_index)
      cross join lateral (
        select x.status from pgflow.runs x where x.run_id = any (array[k.run_id]) limit 1) r
      cross join lateral (
        select x.status from pgflow.step_states x
        where x.run_id = any (array[k.run_id]) and x.step_slug = k.step_slug limit 1) ss
      offset 0
    ) i
    where t.run_id = any (array[i.run_id]) and t.step_slug = i.step_slug and t.task_index = i.task_index
      and case when t.status in ('queued', 'started')
               then i.run_status <> 'started' or i.step_status in ('completed', 'failed', 'skipped') end
    returning t.queue_name, t.message_id
  )
  select array_agg(e.queue_name) as queue_names, array_agg(e.message_id) as message_ids, count(*)::int as how_many
  into ended
  from ended e;
  perform pgflow._archive(ended.queue_names, ended.message_ids);
  return ended.how_many;
end
$$;
