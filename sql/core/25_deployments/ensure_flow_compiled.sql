-- Compiles a plain flow from its shape, or verifies the stored one. The form that
-- existing clients call. Returns {status: compiled | verified | recompiled |
-- mismatch, differences: [text]}. A mismatch changes nothing, unless is_local()
-- or allow_data_loss: then flow and data are deleted, the alias kept, and the
-- flow compiled anew.
-- Locks: alias, slug; a recompile also as delete_flow_and_data.
-- Errors: 22023 bad shape, 42710 name taken, 55000 queue.
create function pgflow.ensure_flow_compiled(
  flow_slug text,
  shape jsonb,
  allow_data_loss boolean default false
)
returns jsonb
language plpgsql
set search_path = ''
as $$
declare
  flow pgflow.flows := pgflow._lock_flow(flow_slug);
  deployment jsonb := pgflow._plain_deployment(flow_slug, shape);
  differences text[] := '{}'::text[];
  status text;
begin
  perform pgflow._check_deployment(deployment, false);
  if flow.flow_slug is not null then
    differences := pgflow._compare_flow_shapes(deployment, pgflow._get_flow_shape(flow_slug));
  end if;

  status := pgflow._compile(flow, deployment, differences, pgflow.is_local() or coalesce(allow_data_loss, false));
  if status in ('compiled', 'recompiled') then
    select f.* into flow from pgflow.flows f where f.flow_slug = ensure_flow_compiled.flow_slug;
    perform pgflow._activate_first(flow);
  end if;
  return jsonb_build_object('status', status, 'differences', to_jsonb(differences));
end
$$;
