-- Refused, with the gaps, until every queue has live workers, with heartbeats younger than
-- 15 seconds, and every worker of the queue runs every step that may arrive there.
select queue_name, live_workers, oldest_heartbeat, covered
from pgflow.rollout_coverage(:'deployment');
