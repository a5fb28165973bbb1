-- Who consumes a queue, and with which modules. On a shared queue every row must carry
-- every flow that has work there.
select w.worker_id, w.function_name, f.enabled, w.standby, w.last_heartbeat_at,
       w.info ->> 'host' as host, w.info ->> 'pid' as pid,
       jsonb_path_query_array(w.info, '$.modules[*].flow') as flows,
       jsonb_path_query_array(w.info, '$.modules[*].buildId') as build_ids
from pgflow.workers w
left join pgflow.worker_functions f on f.function_name = w.function_name
where lower(w.queue_name) = lower(:'queue') and w.stopped_at is null and w.deprecated_at is null
order by w.function_name, w.started_at;
