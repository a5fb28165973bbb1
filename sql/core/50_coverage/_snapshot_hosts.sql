-- The live hosts of a snapshot: [{queue, function, standby, enabled, hosts, pairs}], hosts that
-- do the same counted together. pairs: [{flow, step}], those that they can run now; empty for a host
-- of another program, which registers none. enabled: their function lets them claim.
create function pgflow._snapshot_hosts()
returns jsonb
language sql
stable
set search_path = ''
as $$
  select coalesce(jsonb_agg(jsonb_build_object(
      'queue', g.queue_name, 'function', g.function_name, 'standby', g.standby, 'enabled', g.enabled,
      'hosts', g.hosts, 'pairs', g.pairs)
    order by g.queue_name, g.function_name, g.standby, g.enabled, g.pairs), '[]')
  from (
    select w.queue_name, w.function_name, w.standby, w.enabled, w.pairs, count(*) as hosts
    from (
      select lower(x.queue_name) as queue_name, x.function_name, x.standby,
             not pgflow._must_stop(x.worker_id, x.function_name) as enabled,
             coalesce((
               select jsonb_agg(jsonb_build_object('flow', p.flow_slug, 'step', p.step_slug)
                                order by p.flow_slug, p.step_slug)
               from pgflow.worker_task_pairs p
               where p.worker_id = x.worker_id and not p.held), '[]') as pairs
      from pgflow.workers x
      where x.stopped_at is null and pgflow._is_live(x)
    ) w
    group by w.queue_name, w.function_name, w.standby, w.enabled, w.pairs
  ) g
$$;
