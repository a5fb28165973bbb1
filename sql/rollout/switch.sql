-- Let new starts of the alias use this version. Refused, by name, while a queue of it
-- has no live worker, or has one that does not run all its steps there.
select alias, active_flow_slug, previous_flow_slug, activated_at
from pgflow.activate_flow((select alias from pgflow.flows where flow_slug = :'flow'), :'flow');
