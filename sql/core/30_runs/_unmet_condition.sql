-- Which condition of a step that has become ready does not hold: 'required_input_pattern', 'forbidden_input_pattern'
-- or null. Called for steps that have one.
--
-- The input of a root step is the run's. That of a dependent step is the object {dependency: output} of its completed
-- dependencies; it is tested key by key and never built, because an object of large outputs may not fit jsonb: an
-- object contains another when it contains each of its keys, and two values of one JSON type contain each other
-- inside an object exactly as they do by themselves.
-- Locks: none; the caller holds the run.
create function pgflow._unmet_condition(run_id uuid, step pgflow.steps)
returns text
language plpgsql
stable
set search_path = ''
as $$
declare
  unmet text;
begin
  select p.name into unmet
  from (values ('required_input_pattern', true, step.required_input_pattern),
               ('forbidden_input_pattern', false, step.forbidden_input_pattern)) as p (name, wanted, pattern)
  where p.pattern is not null
    and p.wanted <> case
      when step.deps_count = 0 then (
        select r.input @> p.pattern from pgflow.runs r where r.run_id = _unmet_condition.run_id)
      else (select count(*) from jsonb_object_keys(p.pattern)) = (
        select count(*)
        from jsonb_each(p.pattern) k
        cross join lateral (
          select x.dep_slug from pgflow.deps x
          where x.flow_slug = step.flow_slug and x.step_slug = step.step_slug and x.dep_slug = k.key
          offset 0) d
        cross join lateral (
          select x.status, x.output from pgflow.step_states x
          where x.run_id = _unmet_condition.run_id and x.step_slug = d.dep_slug
          offset 0) ds
        where ds.status = 'completed' and jsonb_typeof(ds.output) = jsonb_typeof(k.value)
          and ds.output @> k.value)
      end
  order by p.wanted desc
  limit 1;
  return unmet;
end
$$;
