-- Functions of version 1 know no pins: they would let any modules serve a pinned function.
select format('function %s is pinned to the modules of deployment %s (pgflowctl functions unpin %1$s)', p.function_name, p.deployment)
from pgflow.function_pins p
where p.ended_at is null and p.unpinned_at is null and p.module_sets is not null
order by p.function_name;
