-- Refused, with what is left, until the old version is drained; a started run counts
-- although its next step has no task yet.
select alias, is_active, started_runs, safe_to_retire
from pgflow.rollout_drained(:'flow');
