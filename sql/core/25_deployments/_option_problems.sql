-- Options of a deployment's flow and steps that are no whole number in range.
create function pgflow._option_problems(deployment jsonb)
returns setof text
language sql
immutable
set search_path = ''
as $$
  with options (thing, name, given, lowest, highest) as (
    select t.thing, o.name, t.options -> o.name, o.lowest, o.highest
    from (
      select 'the flow' as thing, deployment -> 'options' as options, false as is_step
      union all
      select format('step "%s"', s.step ->> 'slug'), s.step -> 'options', true
      from jsonb_array_elements(deployment -> 'steps') as s (step)
    ) as t
    join (values
      ('maxAttempts', 0, 1000, false), ('baseDelay', 0, 86400, false), ('timeout', 1, 604800, false),
      ('startDelay', 0, 31536000, true)) as o (name, lowest, highest, step_only)
      on t.is_step or not o.step_only
  )
  select format('%s of %s is %s: it must be a whole number from %s to %s',
                o.name, o.thing, o.given, o.lowest, o.highest)
  from options o
  where jsonb_typeof(o.given) <> 'null'
    and case jsonb_typeof(o.given)
          when 'number' then (o.given #>> '{}')::numeric % 1 <> 0
                             or (o.given #>> '{}')::numeric not between o.lowest and o.highest
          else true
        end
$$;
