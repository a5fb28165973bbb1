-- Set the declared final states, all in one statement. Refused, by name, while a row
-- of a replaced function carries other code, while a guard has paused a function
-- after the fence, and while a retired function would leave work without a worker.
select function_name, enabled
from pgflow.apply_manifest(:'deployment');
