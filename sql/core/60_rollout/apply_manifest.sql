-- apply_deployment in the form of 0.1: with hosts.
-- Locks and errors: those of apply_deployment.
create function pgflow.apply_manifest(deployment text)
returns table (function_name text, enabled boolean)
language plpgsql
set search_path = ''
as $$
begin
  return query select a.function_name, a.enabled from pgflow.apply_deployment(deployment, false) as a;
end
$$;
