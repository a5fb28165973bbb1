-- Version 1 keeps no chains of runs: it would forget what was restarted, and let it be restarted again.
select format('%s runs that were made by retry or resume (pgflow.run_restarts)', count(*))
from pgflow.run_restarts
having count(*) > 0;
