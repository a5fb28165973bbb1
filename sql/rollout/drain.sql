-- How far the old version is drained. Go on when safe_to_retire is true; a started run
-- counts although its next step has no task yet.
select alias, is_active, started_runs, live_tasks, safe_to_retire, array_to_string(blockers, e'\n') as blockers
from pgflow.drain_status(:'flow');
