-- How the options of a module differ from the stored ones, as readable lines; none:
-- they are the same. shape: the shape or the whole deployment, of the same structure.
-- Locks: none.
-- Errors: 42704 unknown flow; 22023 bad shape; 55000 another structure.
create function pgflow.flow_option_drift(flow_slug text, shape jsonb)
returns text[]
language plpgsql
stable
set search_path = ''
as $$
declare
  flow pgflow.flows;
  deployment jsonb := pgflow._plain_deployment(flow_slug, shape);
  differences text[];
begin
  select f.* into flow from pgflow.flows f where f.flow_slug = flow_option_drift.flow_slug;
  if not found then
    perform pgflow._raise_unknown_flow(flow_slug);
  end if;
  perform pgflow._check_deployment(deployment, false);
  differences := pgflow._compare_flow_shapes(deployment, pgflow._get_flow_shape(flow_slug));
  perform pgflow._raise_problems(
    format('the options are not those of flow "%s"', flow_slug), differences, 'object_not_in_prerequisite_state',
    'Give the module that this flow was compiled from.');
  return pgflow._option_drift(flow, deployment);
end
$$;
