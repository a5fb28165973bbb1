-- Wait until this answers no row: no worker of a replaced function is working, and no
-- started task is in the hands of one. Rows standing by may live: they claim nothing.
select function_name, worker_id, host, pid, state, silent_for, started_tasks
from pgflow.manifest_workers(:'deployment')
where action = 'replace' and ((state = 'working' and not gone) or started_tasks > 0);
