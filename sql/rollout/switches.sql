-- Every switch of an alias, the latest first: an operator's has no worker_id.
select at, from_flow_slug, to_flow_slug, by, worker_id, forced
from pgflow.alias_switches
where alias = :'alias'
order by at desc;
