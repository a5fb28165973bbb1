-- Returns the stored step when the one given has the same structure; options are
-- not structure. queue_name null: whatever it is routed to.
-- Errors: 55000 with the parts that differ.
create function pgflow._same_step(given pgflow.steps, deps_slugs text[], queue_name text)
returns pgflow.steps
language plpgsql
stable
set search_path = ''
as $$
declare
  stored pgflow.steps;
  stored_deps text[];
  differing text;
begin
  select s.* into stored
  from pgflow.steps s
  where s.flow_slug = given.flow_slug and s.step_slug = given.step_slug;
  select coalesce(array_agg(d.dep_slug order by d.dep_slug), '{}') into stored_deps
  from pgflow.deps d
  where d.flow_slug = given.flow_slug and d.step_slug = given.step_slug;
  select coalesce(array_agg(d.slug order by d.slug), '{}') into deps_slugs from unnest(deps_slugs) as d (slug);

  select string_agg(format('%s is %s, given %s', p.name, coalesce(p.stored, 'null'), coalesce(p.given, 'null')), '; ')
  into differing
  from (values
    ('step_type', stored.step_type, given.step_type),
    ('deps_slugs', stored_deps::text, deps_slugs::text),
    ('queue_name', stored.queue_name, coalesce(queue_name, stored.queue_name)),
    ('when_unmet', stored.when_unmet, given.when_unmet),
    ('when_exhausted', stored.when_exhausted, given.when_exhausted),
    ('required_input_pattern', stored.required_input_pattern::text, given.required_input_pattern::text),
    ('forbidden_input_pattern', stored.forbidden_input_pattern::text, given.forbidden_input_pattern::text)
  ) as p (name, stored, given)
  where p.stored is distinct from p.given;

  if differing is not null then
    raise exception 'step "%" of flow "%" exists with another structure: %', given.step_slug, given.flow_slug, differing
      using errcode = 'object_not_in_prerequisite_state',
            hint = 'A step never changes: use a new concrete flow slug, or delete the flow in development.';
  end if;
  return stored;
end
$$;
