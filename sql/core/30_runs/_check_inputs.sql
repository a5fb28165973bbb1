-- Refuses inputs that a flow cannot start with, before anything is written: null, or no array for a root map step.
-- Errors: null_value_not_allowed, invalid_parameter_value.
create function pgflow._check_inputs(plan pgflow._plan, inputs jsonb[])
returns void
language plpgsql
set search_path = ''
as $$
declare
  root_map text;
  bad record;
begin
  select s.step_slug into root_map
  from unnest(plan.steps) with ordinality as s (step_slug, step_type, deps_count, starts, queue_name, delay, place)
  where s.step_type = 'map' and s.deps_count = 0
  order by s.place
  limit 1;

  select i.place, jsonb_typeof(i.input) as kind into bad
  from unnest(inputs) with ordinality as i (input, place)
  where i.input is null or (root_map is not null and jsonb_typeof(i.input) <> 'array')
  order by i.place
  limit 1;

  if not found then
    return;
  elsif bad.kind is null then
    raise exception 'input % of flow "%" is null', bad.place, plan.flow_slug
      using errcode = 'null_value_not_allowed', hint = 'Give a JSON value; an empty one is {}.';
  end if;
  raise exception 'input % of flow "%" is of type %, and its map step "%" needs an array',
      bad.place, plan.flow_slug, bad.kind, root_map
    using errcode = 'invalid_parameter_value', hint = 'Give a JSON array; an empty one makes no tasks.';
end
$$;
