-- One row a deployment, kept for audit: the manifest is the only source of what
-- is fenced, waited for and enabled (docs/operations/rollout.md).
--
-- manifest     as loaded by load_manifest
-- fenced_at    when fence_manifest disabled its replace functions
-- applied_at   when apply_manifest last set its final states
-- before_fence what the fence found, for the way back: {at, functions: [{functionName,
--              existed, enabled, pausedAt, pauseReason, moduleSets}], aliases: {alias: flow}}
-- aborting_at  after the apply: since when it is on its way back
-- closed_at    nobody goes on with it; closed_by: who; was_aborted: back to before_fence
create table pgflow.deployment_manifest (
  deployment text primary key,
  manifest jsonb not null,
  loaded_at timestamptz not null default clock_timestamp(),
  fenced_at timestamptz,
  applied_at timestamptz,
  before_fence jsonb,
  aborting_at timestamptz,
  closed_at timestamptz,
  closed_by text,
  was_aborted boolean not null default false,
  constraint deployment_manifest_is_named check (deployment <> ''),
  constraint deployment_manifest_is_object check (jsonb_typeof(manifest) = 'object')
);
