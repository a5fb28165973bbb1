-- The process behind a worker id of a log line or a message.
select worker_id, function_name, queue_name, standby, started_at, last_heartbeat_at, deprecated_at, stopped_at,
       info ->> 'host' as host, info ->> 'pid' as pid, info -> 'modules' as modules
from pgflow.workers
where worker_id = :'worker';
