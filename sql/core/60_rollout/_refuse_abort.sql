-- Raises why a deployment cannot be taken back; none: returns. Errors: 55000.
create function pgflow._refuse_abort(loaded pgflow.deployment_manifest)
returns void
language plpgsql
set search_path = ''
as $$
begin
  perform pgflow._raise_problems(
    format('deployment "%s" cannot be aborted', loaded.deployment), array(
      select * from pgflow._ended(loaded) where loaded.closed_at is not null
      union all
      select 'it was fenced under an older schema, and what was there before is not recorded'
      where loaded.fenced_at is not null and loaded.before_fence is null
      union all
      select b.line from pgflow._abort_blockers(loaded) as b (line)
      where loaded.fenced_at is not null and loaded.before_fence is not null),
    'object_not_in_prerequisite_state',
    'Its workers must stay while runs need them. Switch new starts back, let the new version drain, then abort; or go '
    'back by a manifest of its own: docs/operations/rollout.md, "Abort and go back".');
end
$$;
