-- Fence once more, whatever was done before: after the repair of a pause, or to begin an
-- applied deployment anew. Takes the hosts of what is replaced out of service.
select deployment, fenced_at
from pgflow.fence_manifest(:'deployment', force => true);
