-- Take the deployment back, one stage a run: repeat it until is_done. Refused, with the
-- reason, while it waits, and once new starts go to a version that it brought.
select stage, is_done, array_to_string(lines, e'\n') as lines
from pgflow.abort_manifest(:'deployment');
