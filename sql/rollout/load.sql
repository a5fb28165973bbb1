-- Load the manifest. Refused, by name, when it contradicts itself or leaves out a
-- function that consumes an affected queue.
select deployment, loaded_at, fenced_at, applied_at
from pgflow.load_manifest(:'manifest');
