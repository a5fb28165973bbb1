-- Version 1 knows no keys of starts: a start that is repeated would make a second run.
select format('%s idempotency keys of runs (pgflow.idempotency_keys)', count(*))
from pgflow.idempotency_keys
having count(*) > 0;
