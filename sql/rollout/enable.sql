-- After the repair: let hosts of the function start again. Those that stand by notice.
select pgflow.enable_worker_functions(array[:'function']);
