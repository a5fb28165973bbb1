-- Who stands by with which code. A row whose right_modules is false is an old process
-- that its supervisor brought back: stop that process, then deprecate once more.
select function_name, action, worker_id, host, pid, state, live, right_modules,
       jsonb_path_query_array(modules, '$[*].file') as files
from pgflow.manifest_workers(:'deployment')
where action in ('replace', 'add') and state <> 'stopped' and not deprecated;
