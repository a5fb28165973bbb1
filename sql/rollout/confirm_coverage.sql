-- Confirm that covered is true in every row: live workers, heartbeats younger than
-- 15 seconds, and every worker of the queue runs every step that may arrive there.
select queue_name, live_workers, oldest_heartbeat, covered, array_to_string(gaps, e'\n') as gaps
from pgflow.manifest_coverage(:'deployment');
