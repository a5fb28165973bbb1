-- Raises 22023 unless a new step may have this slug: no _ at the start or the end, no __ (private queues are named
-- flow__step), and no step of the flow that differs by case alone. Steps that were made before these rules go on.
-- Locks: none; the caller holds the flow.
create function pgflow._check_new_step_slug(flow_slug text, step_slug text)
returns void
language plpgsql
stable
set search_path = ''
as $$
declare
  twin text := (
    select s.step_slug from pgflow.steps s
    where s.flow_slug = _check_new_step_slug.flow_slug and lower(s.step_slug) = lower(_check_new_step_slug.step_slug)
    limit 1);
begin
  if step_slug ~ '^_|_$|__' then
    raise exception 'step "%" of flow "%": the slug is not valid', step_slug, flow_slug
      using errcode = 'invalid_parameter_value',
            hint = 'Use no _ at its start or end and no __: private queues are named flow__step.';
  elsif twin is not null then
    raise exception 'step "%" of flow "%": step "%" differs from it by case alone', step_slug, flow_slug, twin
      using errcode = 'invalid_parameter_value', hint = 'Choose another slug.';
  end if;
end
$$;
