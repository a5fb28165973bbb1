-- Who may call what: one row a function of the API and role. Functions whose name
-- starts with _ are internal and granted to nobody.
--
-- pgflow_worker    what a host calls, and nothing else
-- pgflow_client    starts runs and looks at one by its id, which is the secret
-- pgflow_operator  what a client may, the rest, and what both sides need to look at the system
--
create function pgflow._api_grants()
returns table (routine regprocedure, role_name text)
language sql
stable
set search_path = ''
as $$
  with api as (
    select p.oid::regprocedure as routine, p.proname as name
    from pg_proc p
    where p.pronamespace = 'pgflow'::regnamespace and p.proname !~ '^_'
  ),
  worker (name) as (
    values
      ('ensure_deployment'), ('offer_activation'),
      ('track_worker_function'), ('worker_function_state'), ('worker_fence'), ('register_worker'), ('heartbeat'),
      ('mark_worker_stopped'), ('note_coverage_gap'),
      ('queue_coverage'), ('missing_coverage'), ('drain_status'), ('draining_runs'), ('queue_stats'),
      ('queue_tasks'), ('queue_overview'), ('database_metrics'), ('host_status'), ('schema_version'),
      ('claim_tasks'), ('read_and_claim_tasks'), ('finish_tasks'), ('release_tasks'), ('release_tasks_except'),
      ('warm_up'), ('begin_idle'), ('end_idle'), ('maintain')
  ),
  client (name) as (
    values ('start_flow'), ('start_flows'), ('start_flow_with_states'), ('get_run_with_states')
  ),
  shared (name) as (
    values
      ('worker_function_state'), ('worker_fence'), ('queue_coverage'), ('missing_coverage'), ('drain_status'),
      ('draining_runs'), ('queue_stats'), ('queue_tasks'), ('queue_overview'), ('database_metrics'), ('host_status'),
      ('schema_version')
  )
  select a.routine, 'pgflow_worker' from api a join worker w using (name)
  union all
  select a.routine, 'pgflow_client' from api a join client c using (name)
  union all
  select a.routine, 'pgflow_operator'
  from api a
  where a.name in (select s.name from shared s)
     or a.name not in (select w.name from worker w)
$$;
