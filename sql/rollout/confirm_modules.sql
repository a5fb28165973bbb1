-- Who stands by with which code. Refused until a host with the modules of the manifest is
-- there for each function. A row whose right_modules is false is an old process that its
-- supervisor brought back: the pin will keep it from work. Stop it all the same.
select function_name, action, worker_id, host, pid, state, live, right_modules,
       jsonb_path_query_array(modules, '$[*].file') as files
from pgflow.rollout_hosts(:'deployment');
