-- Functions that the guard paused, and why: the worker that read work which it does
-- not support, where it runs, what it carries, and the pairs that it lacks.
select function_name, paused_at, pause_reason ->> 'queue' as queue_name, pause_reason -> 'pairs' as pairs,
       pause_reason -> 'messageIds' as message_ids, pause_reason ->> 'workerId' as worker_id,
       pause_reason #>> '{info,host}' as host, pause_reason #>> '{info,pid}' as pid,
       pause_reason #> '{info,modules}' as modules
from pgflow.worker_functions
where paused_at is not null
order by paused_at;
