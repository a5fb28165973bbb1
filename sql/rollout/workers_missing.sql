-- Enabled functions without a live working process: what a supervisor should have
-- running and has not.
select function_name, last_heartbeat_at
from pgflow.workers_missing();
