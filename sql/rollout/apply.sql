-- Set the declared final states and pin the functions to the modules of the manifest, all
-- in one transaction. Refused, by name, while workers of other code work or hold started
-- tasks, while nobody stands by, while a guard has paused a function after the fence, and
-- while a retired function would leave work without a worker. Skipped when that is done.
select function_name, enabled
from pgflow.rollout_apply(:'deployment');
