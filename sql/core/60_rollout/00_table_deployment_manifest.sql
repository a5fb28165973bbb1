-- One row a deployment, kept for audit: the manifest is the only source of what
-- is fenced, waited for and enabled (docs/operations/rollout.md).
--
-- manifest     as loaded by load_manifest
-- fenced_at    when fence_manifest disabled its replace functions
-- applied_at   when apply_manifest last set its final states
create table pgflow.deployment_manifest (
  deployment text primary key,
  manifest jsonb not null,
  loaded_at timestamptz not null default clock_timestamp(),
  fenced_at timestamptz,
  applied_at timestamptz,
  constraint deployment_manifest_is_named check (deployment <> ''),
  constraint deployment_manifest_is_object check (jsonb_typeof(manifest) = 'object')
);
