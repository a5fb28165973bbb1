-- Insert every function that has no row, disabled, and disable all that are
-- replaced, in one statement. Rows that exist and are not replaced stay as they are.
-- Skipped when that is done.
select fenced as deployment, fenced_at
from pgflow.rollout_fence(:'deployment');
