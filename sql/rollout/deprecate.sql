-- Deprecate every row of the replaced functions, live or silent, working or standing
-- by: in a transaction of its own, after the fence has committed.
select pgflow.deprecate_workers(array(
  select function_name from pgflow.manifest_entries(:'deployment') where action = 'replace')) as deprecated;
