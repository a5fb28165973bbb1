-- Defines a plain flow from a shape, in one go; it must not exist.
-- Locks: the name. Errors: 22023 bad shape, 42710 name taken, 55000 queue.
create function pgflow._create_flow_from_shape(flow_slug text, shape jsonb)
returns void
language plpgsql
set search_path = ''
as $$
declare
  deployment jsonb := pgflow._plain_deployment(flow_slug, shape);
begin
  perform pgflow._check_deployment(deployment, false);
  perform pgflow._lock_flow(flow_slug);
  perform pgflow._activate_first(pgflow._insert_deployment(deployment));
end
$$;
