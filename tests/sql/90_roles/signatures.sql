-- The names and parameters that clients, dashboards and hosts call by: a contract. A parameter that is added comes last
-- and has a default; anything else here is a change that others notice.
begin;
select no_plan();

create temporary view expected as
select split_part(line, '(', 1) as name, rtrim(substr(line, strpos(line, '(') + 1), ')') as parameters
from unnest(array[
  'activate_flow(alias, flow_slug, force?)',
  'add_step(flow_slug, step_slug, deps_slugs?, max_attempts?, base_delay?, timeout?, start_delay?, step_type?, required_input_pattern?, forbidden_input_pattern?, when_unmet?, when_exhausted?, queue_name?)',
  'apply_flow_options(flow_slug, shape)',
  'apply_manifest(deployment)',
  'cancel_run(run_id, reason?)',
  'claim_tasks(queue_name, message_ids, worker_id, supported_task_pairs, read_cts?)',
  'complete_task(run_id, step_slug, task_index, output)',
  'create_flow(flow_slug, max_attempts?, base_delay?, timeout?)',
  'database_metrics()',
  'delete_flow_and_data(p_flow_slug?, flow_slug?)',
  'delete_unused_flow(flow_slug)',
  'delete_worker_function(name)',
  'deletion_blockers(flow_slug)',
  'deprecate_workers(function_names)',
  'disable_worker_functions(names)',
  'drain_status(flow_slug)',
  'enable_worker_function(name)',
  'ensure_deployment(deployment, adopt?)',
  'ensure_flow_compiled(flow_slug, shape, allow_data_loss)',
  'ensure_flow_compiled(flow_slug, shape, queue_mode?, route_map?)',
  'fail_task(run_id, step_slug, task_index, error_message, permanent?, retry_after?)',
  'finish_tasks(worker_id, run_ids, step_slugs, task_indexes, claim_nos, results, outputs, errors, retry_afters?)',
  'flow_option_drift(flow_slug, shape)',
  'get_run_with_states(run_id)',
  'heartbeat(worker_id, in_flight?, held?)',
  'insert_worker_function(function_name, start_mode?)',
  'missing_coverage(queue_name, supported)',
  'offer_activation(flow_slug, worker_id)',
  'queue_coverage(queue_name)',
  'queue_overview()',
  'queue_stats(queue)',
  'queue_tasks(queue)',
  'read_and_claim_tasks(queue_name, qty, read_vt, worker_id, held?)',
  'register_worker(worker_id, queue_name, function_name, supported, info?, standby?, held?, predecessor?)',
  'release_tasks(worker_id, run_ids, step_slugs, task_indexes, claim_nos, started, delay?)',
  'release_tasks_except(worker_id, run_ids, step_slugs, task_indexes, claim_nos)',
  'retire_flow(flow_slug)',
  'run_waits(run_id)',
  'start_flow(flow_slug, input, run_id?)',
  'start_flow_with_states(flow_slug, input, run_id?)',
  'start_flows(flow_slug, inputs)',
  'start_tasks(flow_slug, msg_ids, worker_id)',
  'start_tasks(flow_slug, msg_ids, worker_id, queue_name, step_slug?)',
  'track_worker_function(function_name, start_mode?)',
  'unretire_flow(flow_slug)',
  'warm_up(queue_name)',
  'worker_function_state(name)'
]) as line;

create temporary view actual as
select p.proname::text as name, coalesce(string_agg(
  a.name || case when a.place > p.pronargs - p.pronargdefaults then '?' else '' end, ', ' order by a.place), '') as parameters
from pg_catalog.pg_proc p
left join lateral unnest(p.proargnames) with ordinality a (name, place) on a.place <= p.pronargs
where p.pronamespace = 'pgflow'::regnamespace
group by p.oid;

select is_empty($$ select e.name, e.parameters from expected e except select a.name, a.parameters from actual a $$,
                'every function has the parameters that others call it by');

select finish();
rollback;
