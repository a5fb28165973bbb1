-- Raises 55000 when a flow may get no further step: it was compiled as a whole, and whoever compiled it would find
-- another flow in its place (`mismatch`, for every host of the module); or it has runs, which were started without the
-- step.
-- Locks: the flow row for update, so that starts at work are waited for and their runs seen.
create function pgflow._check_may_grow(flow_slug text, step_slug text)
returns void
language plpgsql
set search_path = ''
as $$
declare
  compiled_at timestamptz;
  reason text;
begin
  perform from pgflow.flows f where f.flow_slug = $1 for update;
  select c.compiled_at into compiled_at from pgflow.compiled_flows c where c.flow_slug = $1;
  if compiled_at is not null then
    reason := format('it was compiled as a whole at %s', date_trunc('second', compiled_at));
  elsif exists (select from pgflow.runs r where r.flow_slug = $1) then
    reason := 'it has runs';
  end if;

  if reason is not null then
    raise exception 'step "%" cannot be added to flow "%": %', step_slug, flow_slug, reason
      using errcode = 'object_not_in_prerequisite_state',
            hint = 'Define the flow with that step under a new slug, as another version of its alias; '
                   'or delete the flow in development.';
  end if;
end
$$;
