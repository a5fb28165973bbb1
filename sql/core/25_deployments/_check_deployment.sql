-- Raises 22023 unless a deployment is whole and valid by itself; every problem is
-- told. by_host: with the stricter rules for hosts (_name_problems).
create function pgflow._check_deployment(deployment jsonb, by_host boolean)
returns void
language plpgsql
immutable
set search_path = ''
as $$
declare
  problems text[] := array(select * from pgflow._structure_problems(deployment));
begin
  -- Each stage reads what the one before has found to be readable.
  if problems = '{}' then
    problems := array(select * from pgflow._option_problems(deployment));
  end if;
  if problems = '{}' then
    problems := array(select * from pgflow._name_problems(deployment, by_host));
  end if;
  if problems = '{}' then
    problems := array(
      select * from pgflow._graph_problems(deployment)
      union all
      select * from pgflow._route_problems(deployment));
  end if;

  perform pgflow._raise_problems(
    format('deployment of flow "%s" is not valid', coalesce(deployment ->> 'flowSlug', '(none)')), problems,
    'invalid_parameter_value', 'Mend what the module, or the given shape, says of the flow.');
end
$$;
