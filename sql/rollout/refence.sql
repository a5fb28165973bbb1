-- Fence once more, whatever was done before: after the repair of a pause, or to begin an
-- applied deployment anew. Takes the hosts of what is replaced out of service.
select fenced as deployment, fenced_at
from pgflow.fence_deployment(:'deployment', force => true);
