-- Which step the rollout is at, what it waits for, and what else is to be known.
select step, name, state, array_to_string(waits_for, e'\n') as waits_for, array_to_string(notes, e'\n') as notes
from pgflow.rollout_progress(:'deployment');
