-- The manifest that retires what a deployment keeps draining: a deployment of its own,
-- "<deployment>: retire", with the same functions and disabled as their final state. The one
-- that was loaded under that name, once there is one. Null: nothing is to be retired so.
-- A function stays that serves another flow in service than the old versions.
-- Locks: none. Errors: 42704 unknown deployment.
create function pgflow.retirement_manifest(deployment text)
returns jsonb
language plpgsql
stable
set search_path = ''
as $$
declare
  loaded pgflow.deployment_manifest := pgflow._find_manifest(deployment);
  known pgflow.deployment_manifest;
  entries jsonb;
begin
  select d.* into known from pgflow.deployment_manifest d where d.deployment = loaded.deployment || ': retire';
  if known.deployment is not null then
    return known.manifest;
  end if;
  select jsonb_agg(jsonb_build_object(
      'functionName', e.function_name, 'action', 'retire', 'enabled', false, 'startMode', e.start_mode,
      'serves', jsonb_strip_nulls(jsonb_build_object('flow', e.flow_slug, 'queue', e.queue_name))) order by e.function_name)
  into entries
  from pgflow._own_entries(loaded) as e
  where e.action = 'keep-draining'
    and not exists (
      select
      from pgflow.steps s
      join pgflow.flows f on f.flow_slug = s.flow_slug and f.retired_at is null
      where (s.queue_name = e.queue_name
             or s.queue_name in (select own.queue_name from pgflow.steps own where own.flow_slug = e.flow_slug))
        and f.flow_slug not in (select o.flow_slug from pgflow._old_versions(loaded) as o));
  return jsonb_build_object('deployment', loaded.deployment || ': retire', 'scope', coalesce(loaded.manifest ->> 'scope', 'all'),
                            'entries', entries)
  where entries is not null;
end
$$;
