-- Which code may serve each function, who said so, and who lifted it.
select function_name, deployment, coalesce(queue_name, flow_slug) as serves, module_sets, pinned_at, unpinned_at, unpinned_by
from pgflow.function_pins
where ended_at is null
order by function_name;
