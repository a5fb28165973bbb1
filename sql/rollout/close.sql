-- Say that nobody goes on with the deployment. Refused while its fence holds a function.
select closed as deployment, closed_at, closed_by
from pgflow.close_manifest(:'deployment');
