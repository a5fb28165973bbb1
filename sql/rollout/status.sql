-- Which step the rollout is at, and what it waits for.
select step, name, state, array_to_string(waits_for, e'\n') as waits_for
from pgflow.rollout_status(:'deployment');
