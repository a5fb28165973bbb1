-- Deletes runs that ended longer ago than retention_interval, at most max_runs,
-- with their states, tasks, idempotency keys, links to the runs they restart, archived messages and any live ones left, and worker
-- rows and marks of coverage gaps silent for longer. Returns the number of runs deleted: call it until 0.
-- Definitions and other flows' messages stay.
-- Locks: the runs by skip locked, then their states, tasks and messages; worker
-- rows by skip locked. Errors: 22023, a null or negative interval or max_runs.
create function pgflow.prune_data_older_than(retention_interval interval, max_runs int default 10000)
returns bigint
language plpgsql
security definer
set search_path = ''
-- planner: keys
as $$
declare
  -- No run is older than history, and no timestamp: what is asked for beyond it deletes nothing.
  cutoff timestamptz := clock_timestamp() - least(retention_interval, interval '6000 years');
  doomed uuid[];
  messages record;
begin
  if retention_interval is null or retention_interval < interval '0' or max_runs is null or max_runs < 1 then
    raise exception 'prune_data_older_than: retention_interval %, max_runs %', retention_interval, max_runs
      using errcode = 'invalid_parameter_value', hint = 'Give an interval of at least 0 and max_runs of at least 1.';
  end if;

  with locked as (
    select r.run_id
    from pgflow.runs r
    where r.status <> 'started' and coalesce(r.completed_at, r.failed_at) < cutoff
    order by coalesce(r.completed_at, r.failed_at)
    limit max_runs
    for update skip locked
  )
  select array_agg(l.run_id) into doomed from locked l;

  with removed as (
    delete from pgflow.step_tasks t where t.run_id = any (doomed)
    returning t.queue_name, t.message_id
  )
  select array_agg(r.queue_name) as queue_names, array_agg(r.message_id) as message_ids
  into messages
  from removed r;
  delete from pgflow.step_states ss where ss.run_id = any (doomed);
  perform pgflow._delete_messages(messages.queue_names, messages.message_ids);
  delete from pgflow.run_restarts rr where rr.run_id = any (doomed);
  delete from pgflow.idempotency_keys ik where ik.run_id = any (doomed);
  delete from pgflow.runs r where r.run_id = any (doomed);

  with silent as (
    select w.worker_id from pgflow.workers w
    where w.last_heartbeat_at < cutoff and pgflow._is_gone(w)
    order by w.worker_id
    for update skip locked
  )
  delete from pgflow.workers w using silent where w.worker_id = silent.worker_id;
  delete from pgflow.coverage_gaps g where g.last_noted_at < cutoff;
  return coalesce(cardinality(doomed), 0);
end
$$;
