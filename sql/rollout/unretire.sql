-- Take a retired version back into service, to activate it once more.
select flow_slug, alias, retired_at
from pgflow.unretire_flow(:'flow');
