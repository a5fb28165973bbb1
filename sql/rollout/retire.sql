-- Take the drained version out of service. The verdict is computed once more under
-- lock: refused, with the blockers, when a run was started on it meanwhile.
select flow_slug, alias, retired_at
from pgflow.retire_flow(:'flow');
