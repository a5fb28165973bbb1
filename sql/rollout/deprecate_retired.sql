-- Deprecate the workers of the retired functions: they end, and claim nothing more.
select pgflow.deprecate_function_workers(array(
  select function_name from pgflow.manifest_entries(:'deployment') where action = 'retire')) as deprecated;
